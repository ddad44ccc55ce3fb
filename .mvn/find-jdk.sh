# Sets and exports JAVA_HOME to a JDK of the release that this project builds with. To be sourced by a POSIX shell:
#
#     . path/to/.mvn/find-jdk.sh || exit 1
#
# Order: JAVA_HOME, the java on PATH, then the places where JDKs are usually installed. Maven itself must run on
# this JDK: the tools that it runs in its own process (jar, formatter) read class files of this release.

find_jdk() (
  set +efu
  release=25

  is_wanted() {
    [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] && grep -q "^JAVA_VERSION=\"$release[.\"]" "$1/release" 2>/dev/null
  }

  # The JDK that owns the java on PATH, which is often a chain of symbolic links.
  home_on_path() {
    java=$(command -v java) || return
    while [ -h "$java" ]; do
      target=$(readlink "$java")
      case $target in
        /*) java=$target ;;
        *) java=$(dirname "$java")/$target ;;
      esac
    done
    cd "$(dirname "$java")/.." 2>/dev/null && pwd -P
  }

  for home in \
    "$JAVA_HOME" \
    "$(home_on_path)" \
    /usr/lib/jvm/* \
    /usr/lib64/jvm/* \
    /usr/java/* \
    /usr/local/*jdk* \
    /opt/*jdk* \
    /opt/java/* \
    "$HOME"/.jdks/* \
    "$HOME"/.sdkman/candidates/java/* \
    "$HOME"/.asdf/installs/java/* \
    "$HOME"/.local/share/mise/installs/java/* \
    /Library/Java/JavaVirtualMachines/*/Contents/Home \
    "$HOME"/Library/Java/JavaVirtualMachines/*/Contents/Home \
    /opt/homebrew/opt/openjdk@$release/libexec/openjdk.jdk/Contents/Home \
    /usr/local/opt/openjdk@$release/libexec/openjdk.jdk/Contents/Home; do
    if is_wanted "$home"; then
      printf '%s\n' "$home"
      return
    fi
  done
  echo "JDK $release not found${JAVA_HOME:+ (JAVA_HOME=$JAVA_HOME is not one)}: install one, for instance Eclipse Temurin $release, or set JAVA_HOME to it." >&2
  return 1
)

JAVA_HOME=$(find_jdk) && export JAVA_HOME
