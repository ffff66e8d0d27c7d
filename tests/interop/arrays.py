"""Arrays between Capstan and NumPy, safetensors, h5py and PyTorch: their side. See README.md.

arrays.py PROGRAM FOLDER    PROGRAM is arrays_check
"""
import importlib.util
import sys

import h5py
import ml_dtypes
import numpy
import safetensors
import safetensors.numpy

from cases import both_directions, equal

SHAPES = [(), (3,), (2, 3), (2, 0, 2), (2, 3, 2, 2)]
OF_NUMPY = ["bool", "uint8", "int32", "int64", "float32", "float64"]


def elements(dtype, shape):
    """The elements that arrays_check has as well; the values of int64 need more than 32 bits."""
    n = (numpy.arange(int(numpy.prod(shape))).reshape(shape) * 7 + 3) % 11
    if dtype == "bool":
        return n % 2 == 0
    if dtype == "uint8":
        return (n * 23).astype("uint8")
    if dtype == "int64":
        return (n - 5) * 2**40
    if dtype.startswith("int"):
        return (n - 5).astype(dtype)
    if dtype.startswith("complex"):
        return ((n - 5) / 4 + 1j * n / 8).astype(dtype)
    return ((n - 5) / 4).astype(ml_dtypes.bfloat16 if dtype == "bfloat16" else dtype)


def arrays(dtypes):
    return {f"{dtype}_{len(shape)}": numpy.asarray(elements(dtype, shape)) for dtype in dtypes for shape in SHAPES}


def compare(found, dtypes):
    wanted = arrays(dtypes)
    equal("names", sorted(found), sorted(wanted))
    for name, array in wanted.items():
        equal(f"dtype of {name}", found[name].dtype, array.dtype)
        equal(f"shape of {name}", found[name].shape, array.shape)
        if found[name].tobytes() != array.tobytes():
            raise AssertionError(f"{name} is {found[name]} instead of {array}")
    return f"{len(wanted)} arrays"


def read_safetensors(path, dtypes, metadata):
    with safetensors.safe_open(path, "np") as file:
        equal("metadata", file.metadata(), metadata)
    return compare(safetensors.numpy.load_file(path), dtypes)


def read_hdf5(path):
    with h5py.File(path) as file:
        return compare({name: numpy.array(item) for name, item in file["group"].items()}, OF_NUMPY)


def read_torch(path):
    import torch
    from safetensors.torch import load_file

    found = load_file(path)
    for name, array in arrays(OF_NUMPY + ["bfloat16"]).items():
        given = found[name]
        if given.dtype == torch.bfloat16:
            given, array = given.float(), array.astype("float32")
        equal(f"bytes of {name}", given.numpy().tobytes(), array.tobytes())


def read(folder, cases):
    cases.run("safetensors", read_safetensors, folder / "arrays.safetensors", OF_NUMPY + ["bfloat16"],
              {"format": "pt", "by": "é"})
    cases.run("safetensors of complex64", read_safetensors, folder / "complex64.safetensors", ["complex64"], None)
    for name in ("stored", "deflated"):
        cases.run(f"npz, {name}", lambda path: compare(dict(numpy.load(path)), OF_NUMPY), folder / f"{name}.npz")
    cases.run("npy", lambda: compare({path.stem: numpy.load(path) for path in folder.glob("*.npy")}, OF_NUMPY))
    cases.run("hdf5", read_hdf5, folder / "arrays.h5")
    if importlib.util.find_spec("torch"):
        cases.run("safetensors by torch", read_torch, folder / "arrays.safetensors")


def write(folder):
    plain = arrays(OF_NUMPY)
    safetensors.numpy.save_file({**plain, **arrays(["bfloat16", "float16"])}, folder / "numpy.safetensors", {"by": "é"})
    numpy.savez(folder / "stored.npz", **plain)
    numpy.savez_compressed(folder / "deflated.npz", **plain)
    for name in ("float32_2", "int64_4", "bool_1", "float64_0", "uint8_3"):
        numpy.save(folder / f"{name}.npy", plain[name])
        numpy.save(folder / f"{name}.fortran.npy", numpy.array(plain[name], order="F"))
    with h5py.File(folder / "contiguous.h5", "w") as file:
        for name, array in {**plain, **arrays(["float16"])}.items():
            file[f"a/b/{name}"] = array
    for version in ("earliest", "latest"):
        with h5py.File(folder / f"chunked_{version}.h5", "w", libver=version) as file:
            # In the latest form at most eight: groups of more are not read.
            for name, array in list(plain.items())[: 8 if version == "latest" else None]:
                packed = {"compression": "gzip", "shuffle": True, "fletcher32": True} if array.size and array.ndim else {}
                file.create_dataset(name, data=array.astype(array.dtype.newbyteorder(">")), **packed)
    if importlib.util.find_spec("torch"):
        import torch
        from safetensors.torch import save_file

        tensors = {name: torch.from_numpy(array) for name, array in plain.items()}
        bfloat16 = {name: torch.from_numpy(array.astype("float32")).bfloat16()
                    for name, array in arrays(["bfloat16"]).items()}
        torch.save({**tensors, **bfloat16}, folder / "plain.pt")
        # Columns of a matrix in memory: a view with strides.
        torch.save({name: tensor.mT.contiguous().mT if tensor.ndim > 1 else tensor
                    for name, tensor in tensors.items()}, folder / "strided.pt")
        save_file({**tensors, **bfloat16}, folder / "torch.safetensors")


if __name__ == "__main__":
    both_directions(read, write, *sys.argv[1:])
