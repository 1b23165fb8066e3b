import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, symlinkSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath, pathToFileURL } from 'node:url';
import { build } from 'esbuild';
import type { Store } from '@sluice/gateway/store/store.ts';
import type { IdempotencyUse, NewOrder, StoredOrder } from '@sluice/gateway/store/order-model/order.ts';
import type { OrderInsert, OrderTable } from '@sluice/gateway/store/sql/tables/orders/orders.ts';

const root = join(dirname(fileURLToPath(import.meta.url)), '../..');

/** The release from which an upgrade is supported. The commit has the tag `v<version>`; tags are not in every clone. */
export const released = { version: '0.1.0', commit: '123618e8cdf5a350e78dd3ff32cb986e5e2ef2bc' } as const;

/** Why the sources of the release are not here. Null: they are. */
export function missingRelease(): string | null {
  try {
    execFileSync('git', ['cat-file', '-e', `${released.commit}^{commit}`], { cwd: root, stdio: 'ignore' });
    return null;
  } catch {
    return `this copy has no commit ${released.commit} (${released.version}): it is a shallow clone, or not a clone`;
  }
}

/** The sources of the release, in a new folder. */
function unpackRelease(paths: readonly string[]): string {
  const folder = mkdtempSync(join(tmpdir(), `sluice-${released.version}-`));
  const archive = execFileSync('git', ['archive', released.commit, '--', ...paths], { cwd: root, maxBuffer: 256 * 1024 * 1024 });
  execFileSync('tar', ['-x', '-C', folder], { input: archive });
  return folder;
}

/** The store as the release has it. What differs from the current one is listed here. */
export type ReleasedStore = Omit<Store, 'orders' | 'triggers'> & {
  readonly orders: Omit<OrderTable, 'lookUp'> & {
    lookUp(owner: string, use: IdempotencyUse, nowMs: number): ReturnType<OrderTable['lookUp']>;
    insert(order: NewOrder, with_: OrderInsert): ReturnType<OrderTable['insert']>;
    claim(claim: Parameters<OrderTable['claim']>[0]): Promise<readonly StoredOrder[]>;
  };
};

export interface ReleasedStores {
  open(place: { readonly dataDir: string; readonly databaseUrl: string | null }): Promise<ReleasedStore>;
  /** Removes the sources. */
  remove(): void;
}

/** Compiles the store of the release, with the packages of this project. */
export async function releasedStores(): Promise<ReleasedStores> {
  const folder = unpackRelease(['gateway/src', 'shared/src']);
  symlinkSync(join(root, 'gateway/node_modules'), join(folder, 'node_modules'));
  const outfile = join(folder, '.build/released/store.mjs');
  mkdirSync(dirname(outfile), { recursive: true });
  await build({
    entryPoints: [join(folder, 'gateway/src/store/store.ts')],
    outfile,
    bundle: true,
    platform: 'node',
    format: 'esm',
    logLevel: 'silent',
    alias: { '@sluice/shared': join(folder, 'shared/src') },
    nodePaths: [join(root, 'shared/node_modules')],
    banner: { js: "import { createRequire as requireOf } from 'node:module'; const require = requireOf(import.meta.url);" },
  });
  const { openStore } = (await import(pathToFileURL(outfile).href)) as { readonly openStore: ReleasedStores['open'] };
  return { open: openStore, remove: () => rmSync(folder, { recursive: true, force: true }) };
}

/** The whole release with its own packages, compiled. It needs the package registry, or its cache. */
export function installRelease(): string {
  const folder = unpackRelease([]);
  const options = { cwd: folder, stdio: 'pipe' } as const;
  execFileSync('npx', ['-y', 'pnpm@12', 'install', '--frozen-lockfile', '--prefer-offline'], options);
  execFileSync(process.execPath, ['run.mjs', 'build'], options);
  return folder;
}
