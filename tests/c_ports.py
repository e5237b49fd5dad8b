# SPDX-License-Identifier: MIT
"""Calling a library that `kiln build` wrote: its ports, as its header tells them, as buffers of ctypes."""
import ctypes, re, struct, subprocess

# kn_type, bytes, numpy's name and struct's letter
TYPES = {"bool": (1, 1, "|b1", "?"), "u8": (2, 1, "|u1", "B"), "u16": (3, 2, "<u2", "H"), "u32": (4, 4, "<u4", "I"),
         "u64": (5, 8, "<u8", "Q"), "i8": (6, 1, "|i1", "b"), "i16": (7, 2, "<i2", "h"), "i32": (8, 4, "<i4", "i"),
         "i64": (9, 8, "<i8", "q"), "f16": (10, 2, "<f2", "e"), "bf16": (11, 2, "<u2", "H"), "f32": (12, 4, "<f4", "f"),
         "f64": (13, 8, "<f8", "d")}


class Dim(ctypes.Structure):
    _fields_ = [("min", ctypes.c_int32), ("extent", ctypes.c_int32), ("stride", ctypes.c_int64)]


class Buffer(ctypes.Structure):
    _fields_ = [("data", ctypes.c_void_p), ("type", ctypes.c_int), ("rank", ctypes.c_int32), ("dim", Dim * 8),
                ("device", ctypes.c_void_p), ("handle", ctypes.c_uint64), ("flags", ctypes.c_uint32),
                ("reserved", ctypes.c_uint32 * 3)]


def run(command, **more):
    done = subprocess.run(command, capture_output=True, text=True, **more)
    if done.returncode:
        raise SystemExit(f"$ {' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout + done.stderr


def read_npy(path):
    """The shape, x first, and the bytes."""
    data = open(path, "rb").read()
    size = struct.unpack("<H", data[8:10])[0]
    shape = re.search(rb"'shape': \(([^)]*)\)", data[10:10 + size]).group(1)
    return [int(n) for n in shape.split(b",") if n.strip()][::-1], data[10 + size:]


def write_npy(path, kind, extents, data):
    shape = ", ".join(str(n) for n in extents[::-1]) + ("," if len(extents) == 1 else "")
    head = f"{{'descr': '{TYPES[kind][2]}', 'fortran_order': False, 'shape': ({shape}), }}"
    head += " " * (-(len(head) + 11) % 64) + "\n"
    open(path, "wb").write(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(head)) + head.encode() + data)


def buffer_of(kind, mins, extents, memory):
    b = Buffer(ctypes.cast(memory, ctypes.c_void_p), TYPES[kind][0], len(extents))
    stride = 1
    for d, n in enumerate(extents):
        b.dim[d] = Dim(mins[d], n, stride)
        stride *= n
    return b


def ports_of(header):
    """name, role, type, dimensions, remark of each, from the comment at its top."""
    comment = open(header).read().split("#ifndef")[0]
    return re.findall(r"^ \*     (\w+) +(input|param|output) +(\w+)(?:\(([^)]*)\))?(.*)", comment, re.M)


def param_bytes(kind, text):
    """The 8 bytes of a parameter."""
    value, code = {"true": 1, "false": 0}.get(text, text), TYPES[kind][3]
    return struct.pack("<" + code, float(value) if code in "fd" else int(value)).ljust(8, b"\0")
