import { useURL } from '../../lib/search'
import { Button } from '../../ui/kit'
import { t } from '../../texts'

/** Says how it went, to who comes back from a service where the team connects something. */
export function CameBack({ of }: { of: { connected: string; failed: string; problem: Record<string, string> } }) {
  const [search, set] = useURL()
  if (!search.connected && !search.problem) return null
  return (
    <div role="status" className={`flex items-center gap-3 rounded-sm px-3 py-2 text-sm ${search.connected ? 'bg-good-soft text-good' : 'bg-high-soft text-high'}`}>
      <span className="flex-1">{search.connected ? of.connected : (of.problem[search.problem!] ?? of.failed)}</span>
      <Button kind="quiet" className="w-8 !px-0" aria-label={t.close} onClick={() => set({ connected: undefined, problem: undefined }, { replace: true })}>✕</Button>
    </div>
  )
}
