"""A service.

def not_a_function():
"""
import os
from typing import (
    Any,
)

class Config(dict,
             metaclass=Meta):
    """class Inner: no"""

    name: str = "def x():"

    def __init__(self, path: str = 'it\'s',
                 *args) -> None:
        self.path = path  # def comment():

        def helper():
            class Hidden:
                pass
        return helper

    @property
    async def value(self):
        text = f"""
def nothing():
    """
        return text

    class Meta:
        ordering = ["a"]
        def f(self): return 1

# a comment below


if os.name == "nt":
    def windows(): pass
else:
    def unix():
        x = {
    "a": 1,
        }

@decorated(
    1,
)
def last(a,
         b):
    return a

main = last
