import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { parseEnv } from 'node:util';
import { readSettings } from '@sluice/shared/config/settings/settings.ts';
import { endpoints } from '@sluice/shared/wire/rest/endpoints.ts';
import { asyncApiDocument } from '@sluice/shared/wire/documents/openapi/asyncapi.ts';
import { openApiDocument } from '@sluice/shared/wire/documents/openapi/openapi.ts';
import { validator } from '@sluice/shared/wire/validate.ts';
import type { TSchema } from 'typebox';
import { placeOf, type Block } from './find.ts';

/** Kinds that the long run knows how to run. */
const kinds = ['sh', 'js', 'ts', 'python', 'html', 'json', 'stream', 'http', 'handshake', 'sysctl', 'env'] as const;

const root = join(import.meta.dirname, '../..');
/** `json mcp`: the configuration of an agent, which the long run starts. */
const otherJson: ReadonlySet<string> = new Set(['mcp']);

/** What is wrong with a block, without running it. */
export function faultsOf(block: Block): readonly string[] {
  const fault = (text: string): readonly string[] => [`${placeOf(block)}: ${text}`];
  if (!kinds.some((kind) => kind === block.kind)) {
    return fault(`nobody knows how to run a block of the kind '${block.kind}'. Known are ${kinds.join(', ')} (test/blocks)`);
  }
  if (block.kind === 'sh') {
    // An address in angle brackets would be a redirection.
    const { status, stderr } = spawnSync('bash', ['-n'], { input: block.text.replaceAll(/<[\w ]+>/g, 'x'), encoding: 'utf8' });
    return status === 0 ? [] : fault(stderr.trim());
  }
  if (block.kind === 'env') {
    const env = parseEnv(block.text);
    const settings = readSettings(env, { envFile: { names: Object.keys(env), fault: null } });
    return settings.ok ? [] : settings.faults.flatMap(fault);
  }
  return block.kind === 'json' ? jsonFaults(block).flatMap(fault) : [];
}

function jsonFaults({ text, note }: Block): readonly string[] {
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    return [(error as Error).message];
  }
  if (otherJson.has(note)) return [];
  const schema = schemas()[note];
  if (schema === undefined) return [`name the schema that it shows after \`json\`; there is none named '${note}'`];
  const result = validator(schema)(value);
  return result.ok ? [] : [`it does not match the schema ${note}`];
}

function schemas(): Readonly<Record<string, TSchema>> {
  const openApi = openApiDocument(endpoints, { version: '0', plans: [] });
  const documents = [asyncApiDocument({ version: '0' }), openApi] as unknown as { components: { schemas: Record<string, TSchema> } }[];
  return Object.assign({}, ...documents.map(({ components }) => components.schemas)) as Record<string, TSchema>;
}

/** Type-checks all programs in JavaScript and TypeScript, as a user would with `strict`. Returns the faults with the place in the document. */
export function typeFaults(blocks: readonly Block[]): readonly string[] {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-blocks-'));
  try {
    const types = join(root, 'test/node_modules');
    symlinkSync(types, join(folder, 'node_modules'));
    const programs = new Map(
      blocks
        .filter(({ kind }) => kind === 'js' || kind === 'ts')
        .map((block, index) => [`${index}${block.kind === 'ts' ? '.mts' : '.mjs'}`, block]),
    );
    // The compiler refuses an empty list.
    if (programs.size === 0) return [];
    for (const [name, { text }] of programs) writeFileSync(join(folder, name), text);
    // Readers install it; the project does not.
    writeFileSync(join(folder, 'bs58.d.ts'), "declare module 'bs58';");
    const compilerOptions = {
      strict: true,
      checkJs: true,
      noEmit: true,
      skipLibCheck: true,
      allowImportingTsExtensions: true,
      module: 'nodenext',
      target: 'es2022',
      lib: ['es2022', 'dom'],
      types: ['node'],
      paths: { '@sluice/client': [join(root, 'client/src/node.ts')], ws: [join(types, '@types/ws/index.d.mts')] },
    };
    writeFileSync(join(folder, 'tsconfig.json'), JSON.stringify({ compilerOptions, files: ['bs58.d.ts', ...programs.keys()] }));
    const tsc = join(types, 'typescript/bin/tsc');
    const { stdout } = spawnSync(process.execPath, [tsc, '-p', folder, '--pretty', 'false'], { encoding: 'utf8', cwd: folder });
    return stdout
      .split('\n')
      .filter((line) => line.includes('error TS'))
      .map((line) => {
        const [, name = '', row = '0', text = line] = /^([^(]+)\((\d+),\d+\): (.*)$/.exec(line) ?? [];
        const block = programs.get(basename(name));
        return block === undefined ? line : `${block.file}:${block.line + Number(row) - 1}: ${text}`;
      });
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
