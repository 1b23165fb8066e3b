const read = new Map<string, Promise<unknown>>();

/** A document of the gateway, read once. */
export function readDocument<T>(name: 'openapi' | 'asyncapi'): Promise<T> {
  const known = read.get(name);
  if (known !== undefined) return known as Promise<T>;
  const document = fetchDocument(name);
  read.set(name, document);
  document.catch(() => read.delete(name));
  return document as Promise<T>;
}

async function fetchDocument(name: string): Promise<unknown> {
  const answer = await fetch(`/api/${name}.json`);
  if (!answer.ok) throw new Error(`The form needs /api/${name}.json: HTTP ${answer.status}`);
  return answer.json();
}
