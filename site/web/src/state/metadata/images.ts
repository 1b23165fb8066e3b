import { sessionImage } from '../server.ts';
import { dropOldest } from '../bounded.ts';
import { Store } from '../store.ts';
import { RequestQueue } from './request-queue.ts';

/** Maximum numbers of tokens. Above them, the oldest is dropped: that have an image, whose thumbnail is in memory (about 12 KB), whose image failed. */
const maxKnown = 5_000;
const maxThumbnails = 500;
const maxFailed = 1_000;
/** An image that could not be loaded is not requested again for this time. */
const failedForMs = 60_000;

/** Tokens whose metadata names an image. */
const known = new Set<string>();
/** `data:` URLs by mint. */
const thumbnails = new Map<string, string>();
/** By mint: until when its image is not requested again. */
const failed = new Map<string, number>();
/** Icons that can be seen, by mint. */
const visible = new Map<string, Set<Element>>();
const queue = new RequestQueue(requestImage);
/** Counts changes of the thumbnails. */
export const imagesVersion = new Store(0);

export function imageOf(mint: string): string | null {
  return thumbnails.get(mint) ?? null;
}

export function learnImage(mint: string): void {
  known.delete(mint);
  known.add(mint);
  dropOldest(known, maxKnown);
  wantIfShown(mint);
}

const mints = new WeakMap<Element, string>();
const observer = new IntersectionObserver((entries) => {
  for (const { target, isIntersecting } of entries) setVisible(target, isIntersecting);
});

/** Loads the image of a token, if it has one, while the element can be seen. Returns a function that ends this. */
export function showImage(mint: string, element: Element): () => void {
  mints.set(element, mint);
  observer.observe(element);
  return () => {
    observer.unobserve(element);
    setVisible(element, false);
  };
}

function setVisible(element: Element, isVisible: boolean): void {
  const mint = mints.get(element)!;
  const icons = visible.get(mint) ?? new Set();
  if (isVisible) icons.add(element);
  else icons.delete(element);
  if (icons.size > 0) {
    visible.set(mint, icons);
    wantIfShown(mint);
  } else {
    visible.delete(mint);
    queue.drop(mint);
  }
}

function wantIfShown(mint: string): void {
  if (!visible.has(mint) || !known.has(mint) || thumbnails.has(mint)) return;
  if ((failed.get(mint) ?? 0) <= performance.now()) queue.add(mint);
}

async function requestImage(mint: string): Promise<void> {
  // No image, no answer, or nothing that can be drawn: the generated icon stays.
  const blob = await sessionImage(`/token/image/${mint}`).catch(() => null);
  const thumbnail = blob === null ? null : await thumbnailOf(blob);
  if (thumbnail === null) {
    failed.delete(mint);
    failed.set(mint, performance.now() + failedForMs);
    return dropOldest(failed, maxFailed);
  }
  thumbnails.set(mint, thumbnail);
  dropOldest(thumbnails, maxThumbnails);
  imagesVersion.set(imagesVersion.value + 1);
}

/** Of a thumbnail, in pixels: twice the icon of a token's page, which is the largest. */
const side = 104;
/** A small file can contain a picture that would fill the memory when it is drawn. */
const maxPixels = 16_000_000;

/** The one guard of all images in the page: a picture as a small square, without animation, as a `data:` URL; null if it cannot be drawn. Anyone may have made it. */
async function thumbnailOf(blob: Blob): Promise<string | null> {
  const url = URL.createObjectURL(blob);
  try {
    const image = await loaded(url);
    if (image === null) return null;
    const { naturalWidth: width, naturalHeight: height } = image;
    if (width === 0 || height === 0 || width * height > maxPixels) return null;
    const canvas = document.createElement('canvas');
    canvas.width = canvas.height = side;
    const context = canvas.getContext('2d');
    if (context === null) return null;
    context.imageSmoothingQuality = 'high';
    const cut = Math.min(width, height);
    context.drawImage(image, (width - cut) / 2, (height - cut) / 2, cut, cut, 0, 0, side, side);
    return canvas.toDataURL('image/webp', 0.9);
  } finally {
    URL.revokeObjectURL(url);
  }
}

/** Its size is known then, but it is decoded only when it is drawn. */
function loaded(url: string): Promise<HTMLImageElement | null> {
  const image = new Image();
  return new Promise((resolve) => {
    image.addEventListener('load', () => resolve(image));
    image.addEventListener('error', () => resolve(null));
    image.src = url;
  });
}
