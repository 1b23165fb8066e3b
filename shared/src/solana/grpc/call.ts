import { connect, constants } from 'node:http2';
import type { ClientHttp2Session, ClientHttp2Stream, IncomingHttpHeaders, IncomingHttpStatusHeader } from 'node:http2';

/** Bytes that a server may send before they are read: the window of HTTP/2. While nothing is read, the server stops there. */
const windowBytes = 1024 * 1024;
/** Longest message. A transaction has at most some hundred kilobytes, the accounts that are followed a few. */
const maxMessageBytes = 2 * 1024 * 1024;
/** Bytes of requests that the server has not read. A request has some hundred bytes. */
const maxUnsentBytes = 256 * 1024;
const headBytes = 5;

/** Why a call ended. `status`: of gRPC, if the server ended the call with one. `message` is the server's text and not fit to be logged. */
export class GrpcFault extends Error {
  readonly kind: 'oversized' | 'protocol' | 'ended';
  readonly status: number | null;

  constructor(kind: GrpcFault['kind'], message: string, status: number | null = null) {
    super(message);
    this.kind = kind;
    this.status = status;
  }
}

export interface CallOptions {
  readonly url: string;
  readonly token: string | null;
  /** Path of the method. */
  readonly path: string;
}

/**
 * One call with streams in both directions, over a connection of its own. Messages are pulled: what is not pulled stays at the server, apart from the
 * window of HTTP/2. Compression is not offered, because the size of a compressed message is unknown before it is unpacked.
 */
export class GrpcCall {
  readonly #session: ClientHttp2Session;
  readonly #stream: ClientHttp2Stream;
  #fault: GrpcFault | null = null;

  /** Throws if the address is invalid. */
  constructor({ url, token, path }: CallOptions) {
    const { origin, pathname } = new URL(url);
    this.#session = connect(origin, { settings: { enablePush: false, initialWindowSize: windowBytes } });
    // The stream reports what ends the session.
    this.#session.on('error', (error) => this.close(error));
    this.#session.on('connect', () => this.#session.setLocalWindowSize(windowBytes));
    this.#session.on('goaway', () => this.close(new GrpcFault('ended', 'the server closes the connection')));
    this.#stream = this.#session.request(
      {
        [constants.HTTP2_HEADER_METHOD]: 'POST',
        [constants.HTTP2_HEADER_PATH]: `${pathname.replace(/\/$/, '')}${path}`,
        [constants.HTTP2_HEADER_CONTENT_TYPE]: 'application/grpc',
        [constants.HTTP2_HEADER_TE]: 'trailers',
        'grpc-accept-encoding': 'identity',
        ...(token !== null && { 'x-token': token }),
      },
      { endStream: false },
    );
    this.#stream.on('response', (headers) => this.#takeHead(headers));
    this.#stream.on('trailers', (trailers) => this.#takeStatus(trailers));
    this.#stream.on('error', (error) => this.close(error));
  }

  /** False if the server does not read. */
  send(message: Uint8Array): boolean {
    if (this.#stream.destroyed) return true;
    if (this.#stream.writableLength > maxUnsentBytes) return false;
    const head = Buffer.alloc(headBytes);
    head.writeUInt32BE(message.length, 1);
    this.#stream.write(Buffer.concat([head, message]));
    return true;
  }

  /** The messages of the server, in pieces as they arrived. Throws when the call ends. */
  async *messages(): AsyncGenerator<readonly Buffer[]> {
    try {
      let rest: Buffer[] = [];
      let length = 0;
      let neededBytes = headBytes;
      for await (const chunk of this.#stream as AsyncIterable<Buffer>) {
        rest.push(chunk);
        length += chunk.length;
        if (length < neededBytes) continue;
        const bytes = rest.length === 1 ? chunk : Buffer.concat(rest);
        const messages: Buffer[] = [];
        let at = 0;
        for (neededBytes = headBytes; bytes.length - at >= neededBytes; neededBytes = headBytes) {
          neededBytes = headBytes + lengthAt(bytes, at);
          if (bytes.length - at < neededBytes) break;
          messages.push(bytes.subarray(at + headBytes, at + neededBytes));
          at += neededBytes;
        }
        rest = [bytes.subarray(at)];
        length = bytes.length - at;
        if (messages.length > 0) yield messages;
      }
    } catch (error) {
      throw this.#fault ?? (error instanceof GrpcFault ? error : new GrpcFault('ended', String(error)));
    } finally {
      this.close();
    }
    throw this.#fault ?? new GrpcFault('ended', 'the server ended the call');
  }

  /** Ends the call and its connection. The first reason counts. */
  close(reason?: Error): void {
    if (reason !== undefined) this.#fault ??= reason instanceof GrpcFault ? reason : new GrpcFault('ended', reason.message);
    this.#stream?.destroy();
    this.#session.destroy();
  }

  #takeHead(headers: IncomingHttpHeaders & IncomingHttpStatusHeader): void {
    const isGrpc = headers['content-type']?.startsWith('application/grpc') === true;
    if (headers[':status'] !== 200 || !isGrpc) this.close(new GrpcFault('ended', `HTTP ${String(headers[':status'])}`));
    else this.#takeStatus(headers);
  }

  #takeStatus(headers: IncomingHttpHeaders): void {
    const status = Number(headers['grpc-status'] ?? Number.NaN);
    if (Number.isInteger(status)) this.#fault ??= new GrpcFault('ended', String(headers['grpc-message'] ?? ''), status);
  }
}

/** The length of the message that begins at `at`. */
function lengthAt(bytes: Buffer, at: number): number {
  if (bytes[at] !== 0) throw new GrpcFault('protocol', 'a compressed message');
  const length = bytes.readUInt32BE(at + 1);
  if (length > maxMessageBytes) throw new GrpcFault('oversized', `a message of ${length} bytes`);
  return length;
}
