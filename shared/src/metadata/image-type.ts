/** Types of images that are forwarded. SVG is excluded: it is a document that can contain scripts. */
export const imageTypes = ['image/png', 'image/jpeg', 'image/gif', 'image/webp', 'image/avif'] as const;
export type ImageType = (typeof imageTypes)[number];

/** The type of an image according to its first bytes; null if it is not one of `imageTypes`. The declared type is ignored. */
export function imageTypeOf(bytes: Uint8Array): ImageType | null {
  const head = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, 64)).toString('latin1');
  if (head.startsWith('\x89PNG\r\n\x1a\n')) return 'image/png';
  if (head.startsWith('\xff\xd8\xff')) return 'image/jpeg';
  if (head.startsWith('GIF87a') || head.startsWith('GIF89a')) return 'image/gif';
  if (head.startsWith('RIFF') && head.startsWith('WEBP', 8)) return 'image/webp';
  return isAvif(head) ? 'image/avif' : null;
}

/** ISO/IEC 14496-12: the first box is `ftyp`, with the major brand, a version, and compatible brands. */
function isAvif(head: string): boolean {
  if (!head.startsWith('ftyp', 4)) return false;
  const size = (head.charCodeAt(0) << 24) | (head.charCodeAt(1) << 16) | (head.charCodeAt(2) << 8) | head.charCodeAt(3);
  for (let at = 8; at + 4 <= Math.min(size, head.length); at += 4) {
    if (at !== 12 && /^avi[fs]$/.test(head.slice(at, at + 4))) return true;
  }
  return false;
}
