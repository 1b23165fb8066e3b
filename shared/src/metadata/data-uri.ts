/** Media types of a document that the `uri` itself contains. */
const jsonTypes = /^(application\/json|text\/json|text\/plain|)$/;

/** The bytes of a `data:` URI (RFC 2397); null if the text is not one, or its type is not for JSON. */
export function dataUriBytes(uri: string): Buffer | null {
  const comma = uri.indexOf(',');
  if (!/^data:/i.test(uri) || comma < 0) return null;
  const [type = '', ...parameters] = uri.slice(5, comma).split(';');
  if (!jsonTypes.test(type.trim().toLowerCase())) return null;
  const data = uri.slice(comma + 1);
  if (parameters.some((parameter) => parameter.trim().toLowerCase() === 'base64')) return base64Bytes(data);
  return percentBytes(data);
}

function base64Bytes(data: string): Buffer | null {
  const text = data.replaceAll('%3D', '=').replaceAll('%2B', '+').replaceAll('%2F', '/');
  return /^[A-Za-z0-9+/_-]*={0,2}$/.test(text) ? Buffer.from(text, 'base64') : null;
}

function percentBytes(data: string): Buffer | null {
  try {
    return Buffer.from(decodeURIComponent(data));
  } catch (error) {
    if (error instanceof URIError) return null;
    throw error;
  }
}
