/** Of a thumbnail, in pixels: twice the icon of a token's page, which is the largest. */
const side = 104;
/** A small file can contain a picture that would fill the memory when it is drawn. */
const maxPixels = 16_000_000;

/** The one guard of all images in the page: a picture as a small square, without animation, as a `data:` URL; null if it cannot be drawn. Anyone may have made it. */
export async function thumbnailOf(blob: Blob): Promise<string | null> {
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
