import { join } from 'node:path';
import type { HouseCheck } from './house-check.ts';
import { productPackages, readManifest } from './product-packages.ts';
import { place, sourceFiles } from './source-files.ts';

/** Scripts that run the product, and options that make Node.js load, translate or preload other code. */
const productScripts = ['start', 'sluice', 'ingest', 'gateway', 'build', 'generate'];
const productFiles =
  /^(run\.mjs|(shared|venues|programs|followers|ingest|gateway|trading|site)\/src\/.*\.ts|cli\/.*\.ts|compile\/.*\.mjs|test\/simnet\/(?!.*\.test\.ts|support\/).*\.ts)$/;
const loader =
  /(?<!\.)\b(tsx|ts-node|jiti|swc-node)\b|(?<![\w-])--(import|require|loader|experimental-loader|experimental-strip-types)\b|\bmodule\.register\(/;
const fewestFiles = 300;

/** The product runs plain JavaScript. A loader would compile it into a folder that others can write. */
export const noLoader: HouseCheck = {
  name: 'no process of the product uses a loader',
  async run(root) {
    const files = sourceFiles(root).filter(({ path }) => productFiles.test(path));
    const tooFew = files.length < fewestFiles ? [`only ${files.length} files seen, expected ${fewestFiles} or more`] : [];
    const inFiles = files.flatMap((file) => {
      const match = loader.exec(file.text);
      return match === null ? [] : [`${place(file, match.index)}: ${match[0]}`];
    });
    return [...tooFew, ...inFiles, ...productPackages.flatMap((folder) => manifestFaults(root, folder))];
  },
};

function manifestFaults(root: string, folder: string): readonly string[] {
  const path = join(folder, 'package.json');
  const { scripts = {}, dependencies = {} } = readManifest(join(root, folder));
  const inScripts = folder === '.' ? productScripts.flatMap((name) => scriptFaults(name, scripts[name])) : [];
  return [...inScripts, ...Object.keys(dependencies).filter((name) => loader.test(name))].map((fault) => `${path}: ${fault}`);
}

function scriptFaults(name: string, script: string | undefined): readonly string[] {
  if (script === undefined) return [`the script ${name} is missing`];
  return / run\.mjs \w+$/.test(script) && !loader.test(script) ? [] : [`${name} runs ${script}`];
}
