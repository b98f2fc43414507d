import { Copy, Dialog } from '../../ui/kit'

/** Shows what is shown once: a key, a code. */
export function Once({ title, text, value, onClose }: { title: string; text: string; value: string; onClose: () => void }) {
  return (
    <Dialog title={title} onClose={onClose}>
      <p className="mb-2 text-sm">{text}</p>
      <p className="rounded-sm border border-line bg-panel p-3"><code className="break-all whitespace-pre-line select-all">{value}</code> <Copy text={value} /></p>
    </Dialog>
  )
}
