import { createHash } from 'node:crypto';
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pageAnswer } from '@sluice/gateway/http/answers.ts';
import { acceptedCoding } from '@sluice/gateway/http/body/content-coding.ts';
import type { Route } from '@sluice/gateway/http/router.ts';

/** A file in each form in which it can be sent. */
interface Forms {
  readonly plain: Uint8Array;
  readonly br: Uint8Array;
  readonly gzip: Uint8Array;
}

const htmlName = 'web.html';
/** Files that the page loads. Their names contain a hash of their content. */
const assetForm = /^web-[\w-]+\.(js|css)$/;
const types: Readonly<Record<string, string>> = { js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8' };
const assetsPath = '/dashboard/assets/';
const docsForm = /^web-docs-[A-Z0-9]{8}\.(js|css)$/;

/** Headers of a page. Nothing may be loaded from elsewhere, and no script or style may be in the page itself. `images`: where images may be from. */
export const pageHeaders = (images: string) => ({
  'Content-Security-Policy': [
    "default-src 'none'",
    "script-src 'self'",
    "style-src 'self'",
    "connect-src 'self'",
    `img-src ${images}`,
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'none'",
    "require-trusted-types-for 'script'",
  ].join('; '),
  'X-Frame-Options': 'DENY',
});

/** `blob:`: images that the page requests as a session. */
export const securityHeaders = pageHeaders("'self' data: blob:");

/** The folder with the compiled pages: that of the compiled program. */
const programFolder = fileURLToPath(new URL('.', import.meta.url));

/** Addresses of the script and the style of the documentation; none if they are not compiled. */
export function docsAssets(folder: string = programFolder): readonly string[] {
  return readdirSync(folder)
    .filter((name) => docsForm.test(name))
    .map((name) => `${assetsPath}${name}`);
}

/**
 * The routes of the dashboard: its page at `/`, and the files that it and the documentation load. All are read now and served from memory. `folder`: where the
 * compiler put them; by default in the folder of the compiled program.
 */
export function dashboardPages(folder: string = programFolder): Route[] {
  if (!existsSync(join(folder, htmlName))) return [fileRoute('/', notCompiled, htmlHeaders)];
  const assets = readdirSync(folder).filter((name) => assetForm.test(name));
  return [
    fileRoute('/', readForms(join(folder, htmlName)), htmlHeaders),
    ...assets.map((name) =>
      fileRoute(`${assetsPath}${name}`, readForms(join(folder, name)), {
        'content-type': types[name.slice(name.lastIndexOf('.') + 1)]!,
        'cache-control': 'public, max-age=31536000, immutable',
      }),
    ),
  ];
}

const htmlHeaders = { 'content-type': 'text/html; charset=utf-8', 'cache-control': 'no-cache', ...securityHeaders };
const notCompiledText = Buffer.from('<!doctype html><title>sluice</title><p>The page is not compiled: npx -y pnpm@12 run build</p>\n');
const notCompiled: Forms = { plain: notCompiledText, br: notCompiledText, gzip: notCompiledText };

function readForms(path: string): Forms {
  return { plain: readFileSync(path), br: readFileSync(`${path}.br`), gzip: readFileSync(`${path}.gz`) };
}

function fileRoute(path: string, forms: Forms, headers: Readonly<Record<string, string>>): Route {
  const isCompressed = forms.br !== forms.plain;
  // A weak tag, because all forms have the same one.
  const tag = `W/"${createHash('sha256').update(forms.plain).digest('base64url').slice(0, 22)}"`;
  const all = { ...headers, vary: 'Accept-Encoding', etag: tag };
  return {
    method: 'GET',
    path,
    handler: (request) => {
      if (request.header('if-none-match') === tag) return { ...pageAnswer(all, ''), status: 304 };
      const coding = isCompressed ? acceptedCoding(request) : null;
      return pageAnswer(coding === null ? all : { ...all, 'content-encoding': coding }, forms[coding ?? 'plain']);
    },
  };
}
