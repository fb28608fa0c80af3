"""What is set as code on a page is found, however it is set."""

from __future__ import annotations

import pytest
from docs.page_blocks import Mark, code_of, read_mark

PAGE = """# A page
    at once
text
    that goes on

```js
    a fence
```

~~~~ toml
```
~~~~
- a list

      deep
        deeper

<!-- not run: a reason -->
    after a mark

  ```sh
  in a list
  ```
"""


def test_every_piece_is_found() -> None:
    assert list(code_of(PAGE.splitlines())) == [
        (2, "", "at once\n"),
        (6, "js", "a fence\n"),
        (10, "toml", "```\n"),
        (15, "", "deep\n  deeper\n"),
        (19, "", "after a mark\n"),
        (21, "sh", "in a list\n"),
    ]


def test_a_mark_is_read() -> None:
    assert read_mark("not run (a b; c): for\na reason") == Mark(("a b", "c"), "for a reason", "")
    assert read_mark("run (a) by tests/x.py") == Mark(("a",), "", "tests/x.py")
    assert read_mark("read by tests/x.py").about("any line")
    with pytest.raises(ValueError, match="neither a reason nor a test in 'not run'"):
        read_mark("not run")
