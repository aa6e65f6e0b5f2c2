/** A root file system that sandboxes can boot from. */
export interface StoredImage {
  readonly id: string;
  readonly sizeMib: number;
  readonly createdAtUnix: number;
  /** The raw ext4 file, absolute; never written. */
  readonly path: string;
}

/** What is wrong with the file that an image was to be made from. */
export type ImageFault =
  | { readonly kind: 'missing' }
  /** This process may not read it; `user` is who it runs as. */
  | { readonly kind: 'closed'; readonly user: string }
  | { readonly kind: 'link'; readonly target: string }
  /** `type` with its article: "a directory". */
  | { readonly kind: 'not_file'; readonly type: string }
  | { readonly kind: 'not_ext4'; readonly reason: string }
  /** It had so many bytes before it was copied, and has so many since it was last written. */
  | {
      readonly kind: 'changed';
      readonly hadBytes: number;
      readonly hasBytes: number;
      readonly writtenAt: Date;
    }
  | { readonly kind: 'no_room'; readonly needBytes: number; readonly freeBytes: number };

/** Gets how much of a copy is done. */
export type CopyProgress = (doneBytes: number, totalBytes: number) => void;

/** Keeps copies of root file systems. */
export interface ImageStore {
  readonly imagesDir: string;
  /** What there is, sorted by id. What a copy that was cut off left is removed. To be called before all else. */
  load(): Promise<readonly StoredImage[]>;
  /**
   * Looks at a file of the host, copies it without its holes, and answers the image once it is durable. Throws ImageRefused, and
   * then, as when the signal aborts, leaves nothing. An id is to be added once at a time.
   */
  add(id: string, source: string, onProgress: CopyProgress, signal: AbortSignal): Promise<StoredImage>;
  /** Harmless when it is gone. */
  remove(id: string): Promise<void>;
}

/** No image can be made from this file. */
export class ImageRefused extends Error {
  override readonly name = 'ImageRefused';
  readonly fault: ImageFault;
  constructor(source: string, fault: ImageFault) {
    super(`${source}: ${fault.kind}`);
    this.fault = fault;
  }
}
