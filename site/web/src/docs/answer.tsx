/** Characters of a body that the page shows. */
const maxChars = 50_000;

export interface Answer {
  readonly status: string;
  readonly ms: number;
  readonly headers: string;
  readonly body: string;
}

/** Reads an answer as a reader wants to see it. */
export async function readAnswer(response: Response, startedMs: number): Promise<Answer> {
  const bytes = new Uint8Array(await response.arrayBuffer());
  const body = textOf(bytes, response.headers.get('content-type') ?? '');
  return {
    status: `${response.status} ${response.statusText}`.trim(),
    ms: Math.round(performance.now() - startedMs),
    headers: [...response.headers].map(([name, value]) => `${name}: ${value}`).join('\n'),
    body: body.length > maxChars ? `${body.slice(0, maxChars)}\n… ${body.length - maxChars} more characters` : body,
  };
}

function textOf(bytes: Uint8Array, type: string): string {
  const text = new TextDecoder().decode(bytes);
  if (type.startsWith('application/json')) return JSON.stringify(JSON.parse(text), null, 1);
  if (type.startsWith('text/')) return text;
  return `${bytes.length} bytes of ${type}, in base64:\n${btoa(String.fromCharCode(...bytes.subarray(0, maxChars)))}`;
}

export function AnswerView({ answer: { status, ms, headers, body } }: { readonly answer: Answer }) {
  return (
    <div class="answer">
      <h4>
        <span class={status.startsWith('2') ? 'buy' : 'sell'}>{status}</span> <small>after {ms} ms</small>
      </h4>
      <details>
        <summary>Headers</summary>
        <pre tabIndex={0} aria-label="Headers">
          {headers}
        </pre>
      </details>
      <pre tabIndex={0} aria-label="Body">
        {body}
      </pre>
    </div>
  );
}
