import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../build-folder.mjs';
import { stageClient } from './client.mjs';
import { pack, releasedText } from './pack.mjs';
import { stageProduct } from './product.mjs';
import { writeSbom } from './sbom.mjs';

/** `pnpm release`: writes the packages and the list of their parts into the folder `release`. */
const folder = join(root, 'release');
mkdirSync(folder, { recursive: true });
const draft = mkdtempSync(join(folder, 'draft-'));
try {
  const sbom = join(draft, 'sbom.cdx.json');
  writeSbom(sbom);
  stageProduct(join(draft, 'sluice'), sbom);
  stageClient(join(draft, 'client'));
  const [product = '', client = ''] = ['sluice', 'client'].map((name) => pack(join(draft, name), folder));
  console.log(releasedText(product, client));
} finally {
  rmSync(draft, { recursive: true, force: true });
}
