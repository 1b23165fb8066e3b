/** Characters of an answer; far more than the longest one of sluice. */
const maxChars = 16 * 1024 * 1024;

/** The text of an answer. Null if it is too long: the rest is then not read. */
export async function boundedText(answer: Response): Promise<string | null> {
  if (Number(answer.headers.get('content-length') ?? 0) > maxChars) {
    await answer.body?.cancel();
    return null;
  }
  // React Native gives no access to the parts of an answer.
  const reader = (answer.body as ReadableStream<Uint8Array> | undefined | null)?.getReader();
  if (reader === undefined) {
    const text = await answer.text();
    return text.length > maxChars ? null : text;
  }
  const decoder = new TextDecoder();
  let text = '';
  for (;;) {
    const { done, value } = await reader.read();
    if (done) return text + decoder.decode();
    text += decoder.decode(value, { stream: true });
    if (text.length > maxChars) {
      await reader.cancel();
      return null;
    }
  }
}
