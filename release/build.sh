#!/usr/bin/env bash
# Makes what is handed out, in release/out: static binaries for x86-64 and arm64, an archive and a Debian package of each, and their
# SHA-256 sums. Two builds of a commit are the same bytes, in whatever folder, with the same Rust and the same packages of Debian.
#
#   release/build.sh             everything
#   release/build.sh x86_64      one architecture (x86_64 or aarch64)
#   release/build.sh --test      afterwards the unit tests of protocols, statistics, plans and records on arm64, under QEMU
#
# It runs on x86-64 Linux with Rust (rustup target add aarch64-unknown-linux-gnu) and these packages: gcc libc6-dev
# gcc-aarch64-linux-gnu libc6-dev-arm64-cross python3 zstd; for --test qemu-user-static. Without git, PITOT_COMMIT (`abc123def 2026-11-26`),
# SOURCE_DATE_EPOCH and DEBEMAIL (`Name <address>`) have to say what the history does not.
set -euo pipefail
cd "$(dirname "$0")/.."
umask 022
export LC_ALL=C.UTF-8 TZ=UTC

is_tested=
architectures=()
for word in "$@"; do
    case $word in
    --test) is_tested=yes ;;
    x86_64 | aarch64) architectures+=("$word") ;;
    *)
        printf '%s\n' "release/build.sh: unknown word $word" "  give x86_64, aarch64, --test or nothing" >&2
        exit 2
        ;;
    esac
done
[ ${#architectures[@]} -gt 0 ] || architectures=(x86_64 aarch64)

if [ -z "${PITOT_COMMIT-}" ]; then
    changed=$([ -z "$(git status --porcelain)" ] || echo -changed)
    PITOT_COMMIT=$(git log -1 --abbrev=9 --date=format:%Y-%m-%d --format="%h$changed %cd")
fi
export PITOT_COMMIT
export SOURCE_DATE_EPOCH=${SOURCE_DATE_EPOCH:-$(git log -1 --format=%ct)}
maintainer=${DEBEMAIL:-$(git log -1 --format='%an <%ae>')}
version=$(sed -n 's/^version = "\(.*\)"$/\1/p' Cargo.toml | head -n 1)
out=$PWD/release/out
rm -rf "$out" && mkdir -p "$out"

# Paths of this machine must not be in the binaries. glibc is linked statically: see docs/install.md for what follows from that.
cargo_home=${CARGO_HOME:-$HOME/.cargo}
export RUSTFLAGS="-C target-feature=+crt-static -C link-arg=-Wl,-z,pack-relative-relocs --remap-path-prefix=$PWD=/pitot --remap-path-prefix=$cargo_home=/cargo"
export CFLAGS="-ffile-prefix-map=$PWD=/pitot -ffile-prefix-map=$cargo_home=/cargo"
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_LINKER=aarch64-linux-gnu-gcc
export CARGO_TARGET_AARCH64_UNKNOWN_LINUX_GNU_RUNNER=qemu-aarch64-static
unset CARGO_TARGET_DIR

# What is on a measured path is optimised as in the profile `release`.
optimised=()
while read -r crate; do
    optimised+=(--config "profile.dist.package.$crate.opt-level=3")
done < <(sed -n '/^\[profile.release.package.\(.*\)\]$/{s//\1/;h;n;/opt-level = 3/{g;p}}' Cargo.toml)

# compile ARCHITECTURE: prints the path of the binary.
compile() {
    cargo build --package pitot-cli --features full --profile dist --locked "${optimised[@]}" --target "$1-unknown-linux-gnu" >&2
    echo "target/$1-unknown-linux-gnu/dist/pitot"
}

# What the definitions of the commands say is the same on both architectures, and this machine can run one of them.
own=$(compile x86_64)
shared=target/release-shared
rm -rf "$shared" && mkdir -p "$shared/completions"
"$own" completions bash >"$shared/completions/pitot.bash"
"$own" completions zsh >"$shared/completions/_pitot"
"$own" completions fish >"$shared/completions/pitot.fish"
"$own" man --all "$shared/man/man1"

# archive ARCHITECTURE BINARY
archive() {
    local name=pitot-$version-$1-linux
    local folder=target/release-archive/$name
    rm -rf target/release-archive && mkdir -p "$folder"
    cp "$2" "$folder/pitot"
    cp -r "$shared/." LICENSE THIRD-PARTY.md release/STATIC-LIBRARIES.md /usr/share/common-licenses/LGPL-2.1 "$folder"
    cp "target/release-sbom.$1" "$folder/sbom.cdx.json"
    tar --create --directory "${folder%/*}" --sort=name --format=gnu --owner=0 --group=0 --numeric-owner \
        --mode=u=rwX,go=rX --mtime="@$SOURCE_DATE_EPOCH" "$name" | zstd -19 --quiet -T1 -o "$out/$name.tar.zst"
    cp "$2" "$out/$name"
}

# deb ARCHITECTURE BINARY
deb() {
    local root=target/release-deb arch
    case $1 in x86_64) arch=amd64 ;; aarch64) arch=arm64 ;; esac
    local doc=$root/usr/share/doc/pitot
    rm -rf "$root" && mkdir -p "$root/DEBIAN" "$root/usr/bin" "$root/usr/share/man" "$doc" "$root/usr/share/lintian/overrides" \
        "$root/usr/share/bash-completion/completions" "$root/usr/share/zsh/vendor-completions" "$root/usr/share/fish/vendor_completions.d"
    install -m 755 "$2" "$root/usr/bin/pitot"
    cp -r "$shared/man/man1" "$root/usr/share/man"
    cp "$shared/completions/pitot.bash" "$root/usr/share/bash-completion/completions/pitot"
    cp "$shared/completions/_pitot" "$root/usr/share/zsh/vendor-completions/_pitot"
    cp "$shared/completions/pitot.fish" "$root/usr/share/fish/vendor_completions.d/pitot.fish"
    cp THIRD-PARTY.md release/STATIC-LIBRARIES.md release/deb/copyright "$doc"
    cp "target/release-sbom.$1" "$doc/sbom.cdx.json"
    cp release/deb/lintian-overrides "$root/usr/share/lintian/overrides/pitot"
    printf 'pitot (%s) stable; urgency=medium\n\n  * Release %s (%s).\n\n -- %s  %s\n' "$version" "$version" "$PITOT_COMMIT" \
        "$maintainer" "$(date --date="@$SOURCE_DATE_EPOCH" --rfc-email)" >"$doc/changelog"
    gzip -9 --no-name "$root"/usr/share/man/man1/*.1 "$doc/changelog" "$doc/THIRD-PARTY.md" "$doc/sbom.cdx.json"
    sed -e "s/@VERSION@/$version/" -e "s/@ARCH@/$arch/" -e "s/@MAINTAINER@/$maintainer/" \
        -e "s/@SIZE@/$(du --apparent-size --summarize --block-size=1024 "$root/usr" | cut -f1)/" release/deb/control >"$root/DEBIAN/control"
    (cd "$root" && find usr -type f -print0 | sort -z | xargs -0 md5sum >DEBIAN/md5sums)
    find "$root" -print0 | xargs -0 touch --no-dereference --date="@$SOURCE_DATE_EPOCH"
    dpkg-deb --root-owner-group -Zxz --threads-max=1 --build "$root" "$out/pitot_${version}_$arch.deb" >/dev/null
}

for architecture in "${architectures[@]}"; do
    binary=$(compile "$architecture")
    python3 release/sbom.py "$architecture-unknown-linux-gnu" "$version" >"target/release-sbom.$architecture"
    archive "$architecture" "$binary"
    deb "$architecture" "$binary"
done
(cd "$out" && sha256sum pitot* >SHA256SUMS)
ls -l "$out"
cat "$out/SHA256SUMS"

if [ -n "$is_tested" ]; then
    packages=(pitot-proto pitot-client pitot-stats pitot-plan pitot-record)
    cargo test "${packages[@]/#/--package=}" --lib --release --locked --target aarch64-unknown-linux-gnu
fi
