/** A bucket of an object store that is mounted in a guest; who may open it is known to the guest alone. */
export interface Mount {
  readonly id: string;
  readonly bucket: string;
  readonly endpoint: string;
  readonly mountPath: string;
  readonly readOnly: boolean;
}
