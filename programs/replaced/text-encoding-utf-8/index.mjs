/** In place of the package `text-encoding-utf-8`, for old browsers. Its manifest names no licence, and Node.js has both classes itself. */
export const { TextDecoder, TextEncoder } = globalThis;
