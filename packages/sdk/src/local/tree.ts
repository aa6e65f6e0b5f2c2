/** How a tree of files is packed or unpacked. */
export interface TreeOptions {
  /** Keeps owners, as numbers, and the bits that lend them to whoever runs a file. Else what is copied is its receiver's. */
  readonly keepOwner?: boolean | undefined;
  /** Hears how many bytes of files are on their way. */
  readonly onBytes?: ((count: number) => void) | undefined;
  /** Hears the path of what no copy has, and was left out. */
  readonly onSkipped?: ((path: string) => void) | undefined;
}

/** One entry of a tar. */
export interface TreeEntry {
  readonly header: EntryHeader;
  /** Of anything but a file it is empty. */
  readonly body: ReadableStream<Uint8Array>;
}

/** What a tar says of an entry. */
export interface EntryHeader {
  readonly name: string;
  /** `file`, `directory`, `symlink`, `link` (a hard link), or what is not unpacked. */
  readonly type?: string | undefined;
  readonly size: number;
  readonly mode?: number | undefined;
  readonly mtime?: Date | undefined;
  readonly uid?: number | undefined;
  readonly gid?: number | undefined;
  /** What a link leads to. */
  readonly linkname?: string | undefined;
  /** PAX records; `mtime` has parts of a second. */
  readonly pax?: Readonly<Record<string, string>> | undefined;
}
