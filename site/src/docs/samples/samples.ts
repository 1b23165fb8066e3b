import { pythonOf } from './python.ts';
import type { SampleRequest } from './request.ts';
import { typescriptOf } from './typescript.ts';

export interface Sample {
  readonly title: string;
  /** As in the fences of Markdown. */
  readonly language: string;
  readonly text: string;
}

/** The request in each language. */
export function samplesOf(request: SampleRequest): readonly Sample[] {
  return [
    { title: 'curl', language: 'sh', text: curlOf(request) },
    { title: 'TypeScript', language: 'ts', text: typescriptOf(request) },
    { title: 'Python', language: 'python', text: pythonOf(request) },
  ];
}

/** The request as a curl command, with a key if the endpoint requires one. */
export function curlOf({ method, url, needsKey, body, answers }: SampleRequest): string {
  const parts = [`curl ${method === 'GET' ? '' : `-X ${method} `}'${url}'`];
  if (needsKey) parts.push(`-H "Authorization: Bearer $SLUICE_API_KEY"`);
  if (body !== null) parts.push("-H 'Content-Type: application/json'", `-d '${JSON.stringify(body)}'`);
  if (answers === 'bytes') parts.push('-o answer.bin');
  return parts.join(' \\\n  ');
}
