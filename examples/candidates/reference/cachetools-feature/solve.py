"""Wraps the cache that `cached` looks into: a subclass of nothing, it only counts."""

import sys
from pathlib import Path

SIGNATURE = "def cached(cache, key=keys.hashkey, lock=None):"
NEW_SIGNATURE = "def cached(cache, key=keys.hashkey, lock=None, info=False):"
END = "        return functools.update_wrapper(wrapper, func)\n\n    return decorator\n\n\ndef cachedmethod("
NEW_END = """\
        wrapper.cache_info = None
        if info:
            wrapper = _counting(wrapper, func)

        return functools.update_wrapper(wrapper, func)

    return decorator


def cachedmethod("""
COUNTING = '''\
CacheInfo = collections.namedtuple("CacheInfo", "hits misses maxsize currsize")


def _counting(wrapper, func):
    """The wrapper of `cached`, written again with counts of hits and misses."""
    cache, key = wrapper.cache, wrapper.cache_key
    lock = wrapper.cache_lock if wrapper.cache_lock is not None else contextlib.nullcontext()
    hits = misses = 0

    def counted(*args, **kwargs):
        nonlocal hits, misses
        if cache is None:
            misses += 1
            return func(*args, **kwargs)
        k = key(*args, **kwargs)
        with lock:
            try:
                v = cache[k]
                hits += 1
                return v
            except KeyError:
                misses += 1
        v = func(*args, **kwargs)
        try:
            with lock:
                return cache.setdefault(k, v)
        except ValueError:
            return v  # value too large

    def cache_clear():
        nonlocal hits, misses
        with lock:
            if cache is not None:
                cache.clear()
            hits = misses = 0

    def cache_info():
        with lock:
            if cache is None:
                return CacheInfo(hits, misses, 0, 0)
            if isinstance(cache, Cache):
                return CacheInfo(hits, misses, cache.maxsize, cache.currsize)
            return CacheInfo(hits, misses, None, len(cache))

    counted.cache, counted.cache_key, counted.cache_lock = cache, key, wrapper.cache_lock
    counted.cache_clear, counted.cache_info = cache_clear, cache_info
    return counted


'''

module = Path(sys.argv[1]) / "src" / "cachetools" / "__init__.py"
text = module.read_text()
for part in (SIGNATURE, END, "import collections.abc\n"):
    if text.count(part) != 1:
        sys.exit(f"{module} is not the file that I know")
text = text.replace("import collections.abc\n", "import collections.abc\nimport contextlib\n")
text = text.replace(SIGNATURE, COUNTING + NEW_SIGNATURE).replace(END, NEW_END)
module.write_text(text)
print(f"added info=True to {module}")
