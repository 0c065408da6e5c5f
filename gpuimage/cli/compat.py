"""The command that says what goes together: compat."""

from __future__ import annotations

import sys

import click

from gpuimage.cli.options import arch_list, form_option, note_age, products


@click.command("compat")
@click.option("--cuda", metavar="VERSION", help="CUDA's version: 12.4 or 12.4.1.")
@click.option("--driver", metavar="VERSION", help="The host's driver: 535.86.05, or a branch: 550.")
@click.option("--gpu", "gpus", multiple=True, metavar="NAME", help="A GPU by its name: A10G.")
@click.option("--torch", metavar="VERSION", help="PyTorch: 2.6, or a build of it: 2.6+cu124.")
@click.option("--arch", metavar="LIST", help='A TORCH_CUDA_ARCH_LIST: "8.6;9.0+PTX".')
@click.option("--image", metavar="REFERENCE", help="An image of nvidia/cuda, with its check at start.")
@click.option("--matrix", is_flag=True, help="Print the table of driver branches and CUDA versions instead.")
@form_option("Form of the answer; the table's text is markdown.", "text", "json")
def compat_command(
    cuda: str | None, driver: str | None, gpus: tuple[str, ...], torch: str | None, arch: str | None,
    image: str | None, form: str, *, matrix: bool,
) -> None:  # fmt: skip
    """Say what runs, what runs in compatibility mode and what is refused, with the reason and the smallest change.

    Give two or more of the options. Exit 1 where something is surely refused.
    """
    from gpuimage import Question, compat, compat_matrix
    from gpuimage.reporters.compat import compat_json, compat_text, matrix_json, matrix_markdown

    note_age()
    if matrix:
        made = compat_matrix()
        click.echo(matrix_json(made) if form == "json" else matrix_markdown(made), nl=False)
        sys.exit(0)
    found = compat(
        Question(
            cuda=cuda, driver=driver, gpus=products(gpus), torch=torch, archs=arch_list(arch), image=image
        )
    )
    click.echo(compat_json(found) if form == "json" else compat_text(found), nl=False)
    sys.exit(1 if found.refused else 0)
