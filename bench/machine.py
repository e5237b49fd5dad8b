# SPDX-License-Identifier: MIT
"""What the figures were measured on: CPU, caches, memory, system, compilers; no names of hosts, no paths."""
import glob, os, re, subprocess

from programs import ROOT


def read(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def first_line(*command):
    try:
        done = subprocess.run(command, capture_output=True, text=True)
    except OSError:
        return None
    return done.stdout.strip().split("\n")[0] if done.returncode == 0 and done.stdout.strip() else None


def cpu():
    model = re.search(r"^model name\s*:\s*(.*)$", read("/proc/cpuinfo"), flags=re.M)
    flags = re.search(r"^flags\s*:\s*(.*)$", read("/proc/cpuinfo"), flags=re.M)
    flags = flags.group(1).split() if flags else []
    vectors = [name for flag, name in (("avx2", "AVX2"), ("fma", "FMA"), ("avx512f", "AVX-512"), ("asimd", "NEON"), ("sve", "SVE")) if flag in flags]
    return f"{model.group(1) if model else os.uname().machine}, {os.cpu_count()} CPUs, {', '.join(vectors) or 'no vector extensions known'}"


def caches():
    """The caches that the first CPU uses, as in "48 KiB L1d, 1280 KiB L2, 48 MiB L3"."""
    found = []
    for folder in sorted(glob.glob("/sys/devices/system/cpu/cpu0/cache/index*")):
        level, kind, size = (read(f"{folder}/{name}").strip() for name in ("level", "type", "size"))
        if kind == "Instruction" or not size:
            continue
        kib = int(size.rstrip("KM")) * (1024 if size.endswith("M") else 1)
        found.append(f"{kib // 1024} MiB" * (kib % 1024 == 0) or f"{kib} KiB")
        found[-1] += f" L{level}{'d' * (kind == 'Data')}"
    return ", ".join(found) or "not known"


def memory():
    total = re.search(r"MemTotal:\s*(\d+)", read("/proc/meminfo"))
    return f"{int(total.group(1)) / 2**20:.0f} GiB" if total else "not known"


def system():
    name = re.search(r'^PRETTY_NAME="?([^"\n]*)', read("/etc/os-release"), flags=re.M)
    virtual = " (in a virtual machine)" if re.search(r"^flags.*\bhypervisor\b", read("/proc/cpuinfo"), flags=re.M) else ""
    return (name.group(1) if name else os.uname().sysname) + virtual


def halide():
    """The version that bench/peers/Makefile takes."""
    wheels = glob.glob(f"{ROOT}/build-bench/wheel/halide-*.dist-info")
    return re.search(r"halide-([\d.]+)\.dist", wheels[0]).group(1) if wheels else first_line("dpkg-query", "-W", "-f", "${Version}", "libhalide14-0")


def tools():
    """Compilers and libraries that took part, with their versions."""
    llvm = next((v for c in ("llvm-config-19", "llvm-config-20", "llvm-config-21", "llvm-config-22", "llvm-config") for v in [first_line(c, "--version")] if v), None)
    named = [("gcc", first_line("gcc", "-dumpfullversion")), ("LLVM", llvm),
             ("Halide", halide()),
             ("OpenCV", first_line("pkg-config", "--modversion", "opencv4"))]
    return ", ".join(f"{name} {version}" for name, version in named if version)


def describe():
    return {"CPU": cpu(), "caches": caches(), "memory": memory(), "system": system(), "compilers and libraries": tools()}
