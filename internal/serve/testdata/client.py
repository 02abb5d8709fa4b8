"""What an application does with the openai package: plain, streamed, many at once, errors."""
import concurrent.futures
import sys

import openai

url, token = sys.argv[1:3]
client = openai.OpenAI(base_url=url, api_key=token, max_retries=0)


def ask(text, **more):
    return client.chat.completions.create(model="muse", messages=[{"role": "user", "content": text}], **more)


want = "You said: hello – as the last of several words."
r = ask("hello")
assert r.choices[0].message.content == want, r
assert r.choices[0].finish_reason == "stop" and r.usage.total_tokens == 12, r
assert r.muse["confidence"] == 0.9, r

text, usage, finish = "", None, None
for chunk in ask("hello", stream=True, stream_options={"include_usage": True}):
    usage = chunk.usage or usage
    for c in chunk.choices:
        text += c.delta.content or ""
        finish = c.finish_reason or finish
assert text == want and usage.total_tokens == 12 and finish == "stop", (text, usage, finish)

with concurrent.futures.ThreadPoolExecutor(16) as pool:
    for i, r in enumerate(pool.map(lambda i: ask(f"number {i}"), range(32))):
        assert r.choices[0].message.content == f"You said: number {i} – as the last of several words.", r

for stream in (False, True):
    try:
        for _ in ask("break", stream=stream):
            pass
        raise SystemExit(f"no error (stream {stream})")
    except openai.APIError as e:
        assert "the upstream is gone" in str(e), e
try:
    openai.OpenAI(base_url=url, api_key="wrong", max_retries=0).models.list()
    raise SystemExit("a wrong token was taken")
except openai.AuthenticationError:
    pass
assert [m.id for m in client.models.list()] == ["muse"]
print("all right")
