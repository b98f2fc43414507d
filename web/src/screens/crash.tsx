import { To, Problem, useTitle } from '../ui/kit'
import { t } from '../texts'

/** What stands in the place of a screen that failed. */
export function Crash({ error, reset }: { error: unknown; reset?: () => void }) {
  useTitle(t.errors.title)
  return <div className="mx-auto max-w-2xl p-4"><Problem error={error} retry={() => { if (reset) reset(); location.reload() }} /></div>
}

export function Missing() {
  useTitle(t.missing.title)
  return (
    <div className="mx-auto max-w-md px-4 py-24 text-center">
      <h1 className="text-xl font-semibold">{t.missing.title}</h1>
      <p className="mt-1 text-muted">{t.missing.text}</p>
      <p className="mt-4"><To to="/" className="btn">{t.missing.home}</To></p>
    </div>
  )
}
