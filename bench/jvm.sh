# To be sourced at the root of the tree, by the scripts that build and run benchmarks.
. .mvn/find-jdk.sh || exit 2

build_bench() {
  ./mvnw -q -B package -Privals -Dmaven.test.skip -Dmaven.javadoc.skip -pl bench -am
}

# Benchmarks run on the class path, the modules of this project and ONNX Runtime on the module path.
bench_java=("$JAVA_HOME/bin/java" -p bench/target/modules --add-modules ALL-MODULE-PATH
  --enable-native-access=ALL-UNNAMED,java.allocator.onnxruntime,com.microsoft.onnxruntime,java.allocator.cpu.reference
  -cp "bench/target/java-allocator-bench.jar:bench/target/lib/*")
