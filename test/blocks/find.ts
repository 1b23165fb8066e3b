import { readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';

/** A fenced code block of a Markdown file. */
export interface Block {
  readonly file: string;
  /** Of its first line, from 1. */
  readonly line: number;
  /** First word after the fence: `sh`, `json`. Empty without one. */
  readonly kind: string;
  /** Second word: the file to save it as, or the schema that it shows. */
  readonly note: string;
  readonly text: string;
}

/** Documents whose blocks are run, in this order: the tutorials need what the README starts. */
export function documentFiles(root: string): readonly string[] {
  const guides = readdirSync(join(root, 'docs/guides')).map((name) => `docs/guides/${name}`);
  return [
    'README.md',
    'client/README.md',
    'clients/python/README.md',
    ...guides.toSorted(),
    'docs/PROTOCOL.md',
    'docs/OPERATING.md',
    'docs/ADD_A_VENUE.md',
  ];
}

export function blocksIn(root: string, file: string): readonly Block[] {
  return blocksOf(file, readFileSync(join(root, file), 'utf8'));
}

export function blocksOf(file: string, text: string): readonly Block[] {
  const found: Block[] = [];
  for (const { 0: whole, 1: info = '', 2: content = '', index } of text.matchAll(/^ *```([^\n]*)\n([^]*?)^ *```$/gm)) {
    const [kind = '', note = ''] = info.trim().split(/\s+/);
    const line = text.slice(0, index + whole.indexOf('```')).split('\n').length + 1;
    found.push({ file, line, kind, note, text: content });
  }
  return found;
}

export function placeOf({ file, line }: Block): string {
  return `${file}:${line}`;
}

/** Commands of a shell block: lines, joined where they end with a backslash, without comments. */
export function commandsOf({ text }: Block): readonly string[] {
  return text
    .replaceAll(/\\\n\s*/g, '')
    .split('\n')
    .map((line) => line.replace(/(^|\s+)#\s.*$/, '').trim())
    .filter((line) => line !== '');
}
