# Sets and exports JAVA_HOME to a JDK of the release that this project builds with, and where the locale is not one of
# UTF-8, LC_ALL. To be sourced by a POSIX shell:
#
#     . path/to/.mvn/find-jdk.sh || exit 1
#
# Order: JAVA_HOME, the java on PATH, then the places where JDKs are usually installed. Maven itself must run on
# this JDK: the tools that it runs in its own process (jar, formatter) read class files of this release.

find_jdk() (
  set +efu
  release=25

  # Prints the folder if it has a JDK of the release. Starts no program: this is part of each start of the allocator command.
  print_if_wanted() {
    [ -x "$1/bin/java" ] && [ -x "$1/bin/javac" ] && [ -r "$1/release" ] || return
    while read -r line; do
      case $line in
        "JAVA_VERSION=\"$release"[.\"]*)
          printf '%s\n' "$1"
          return
          ;;
      esac
    done <"$1/release"
    return 1
  }

  # The JDK that owns the java on PATH, which is often a chain of symbolic links.
  home_on_path() {
    java=$(command -v java) || return
    while [ -h "$java" ]; do
      target=$(readlink "$java")
      case $target in
        /*) java=$target ;;
        *) java=${java%/*}/$target ;;
      esac
    done
    cd "${java%/*}/.." 2>/dev/null && pwd -P
  }

  ! print_if_wanted "$JAVA_HOME" || return 0
  ! print_if_wanted "$(home_on_path)" || return 0
  for home in \
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
    ! print_if_wanted "$home" || return 0
  done
  echo "JDK $release not found${JAVA_HOME:+ (JAVA_HOME=$JAVA_HOME is not one)}: install one, for instance Eclipse Temurin $release, or set JAVA_HOME to it." >&2
  return 1
)

# Java reads arguments and names of files as the locale says, from its start on; a container often has that of C, of ASCII.
case $(locale charmap 2>/dev/null) in UTF-8) ;; *) export LC_ALL=C.UTF-8 ;; esac

JAVA_HOME=$(find_jdk) && export JAVA_HOME
