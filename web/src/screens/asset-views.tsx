import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { body, platform, team, type Platform } from '../lib/api'
import { Shown } from '../lib/show'
import { Card, Empty, Loading, Problem, Table, To } from '../ui/kit'
import { t } from '../texts'

type Asset = Platform['EnumerationContent']

/** The screenshots of a page of assets; each is loaded when it comes into view. */
export function Gallery({ of }: { of: Asset[] }) {
  if (of.length === 0) return <Card><Empty title={t.gallery.none}>{t.gallery.noneText}</Empty></Card>
  return (
    <ul className="grid grid-cols-[repeat(auto-fill,minmax(16rem,1fr))] gap-4">
      {of.map((a) => (
        <li key={a.id} className="card overflow-hidden">
          <To to={`/assets/${a.id}`} className="block hover:text-accent"><Screenshot id={a.id} name={a.name || a.host} />
            <span className="block border-t border-line px-3 py-2 text-sm"><span className="block truncate font-medium"><Shown text={a.name || a.host} max={80} /></span><span className="block truncate text-xs text-muted"><Shown text={[a.status_code, a.title].filter(Boolean).join(' · ')} max={80} /></span></span></To>
        </li>
      ))}
    </ul>
  )
}

/** A screenshot, drawn on a canvas: the request for it carries the team, which that of an image could not. */
export function Screenshot({ id, name }: { id: number; name: string }) {
  const canvas = useRef<HTMLCanvasElement>(null)
  const [state, setState] = useState<'waiting' | 'there' | 'failed'>('waiting')
  useEffect(() => {
    const el = canvas.current!
    const stop = new AbortController()
    const draw = async () => {
      try {
        const { data } = await platform.GET('/v1/asset/{asset_id}/screenshot', { params: { path: { asset_id: id } }, parseAs: 'blob', signal: stop.signal })
        const picture = await createImageBitmap(data as unknown as Blob)
        el.width = 640
        el.height = 400
        const scale = 640 / picture.width
        el.getContext('2d')!.drawImage(picture, 0, 0, 640, picture.height * scale)
        picture.close()
        setState('there')
      } catch { if (!stop.signal.aborted) setState('failed') }
    }
    const seen = new IntersectionObserver((entries) => { if (entries.some((e) => e.isIntersecting)) { seen.disconnect(); void draw() } }, { rootMargin: '200px' })
    seen.observe(el)
    return () => { stop.abort(); seen.disconnect() }
  }, [id])
  return (
    <span className="relative block aspect-[8/5] w-full bg-panel">
      <canvas ref={canvas} role="img" aria-label={t.gallery.of(name.slice(0, 80))} className="block h-full w-full" />
      {state !== 'there' && <span className="absolute inset-0 grid place-content-center text-xs text-muted">{state === 'failed' ? t.gallery.failed : t.gallery.loading}</span>}
    </span>
  )
}

// The graph of one asset: names, addresses, services and certificates in four columns, joined by lines. What goes with
// what is in the assets themselves, so that of those around one asset is enough.

type Node = { column: 0 | 1 | 2 | 3; text: string; to?: string }
const most = 40 // of a column

function around(a: Asset, others: Asset[]) {
  const nodes = new Map<string, Node>()
  const links = new Map<string, [string, string]>()
  const node = (column: Node['column'], text: string, to?: string) => {
    const key = `${column} ${text}`
    if (text && !nodes.has(key)) nodes.set(key, { column, text, to })
    return text ? key : ''
  }
  const link = (x: string, y: string) => { if (x && y && x !== y) links.set(`${x}\n${y}`, [x, y]) }
  for (const b of [a, ...others.filter((o) => o.id !== a.id)]) {
    const isAddress = (b.ip ?? []).includes(b.host)
    const name = isAddress ? '' : node(0, b.host, b.type === 'host' ? `/assets/${b.id}` : undefined)
    const addresses = (b.ip ?? []).map((ip) => node(1, ip))
    for (const ip of addresses) link(name, ip)
    const service = b.port ? node(2, b.type === 'http' ? b.name || `${b.host}:${b.port}` : `${b.host}:${b.port}`, `/assets/${b.id}`) : ''
    for (const from of addresses.length > 0 ? addresses : [name]) link(from, service)
    const cert = b.tls_subject_cn ? node(3, b.tls_subject_cn) : ''
    link(service || addresses[0] || name, cert)
  }
  return { nodes, links: [...links.values()] }
}

export function Graph({ of: a }: { of: Asset }) {
  const ask = { host: a.host, ip: (a.ip ?? []).slice(0, 5).join(',') }
  const get = (query: Record<string, string | number>) => body(platform.GET('/v1/asset/enumerate/contents', { params: { query: query as never } }))
  const found = useQuery({
    queryKey: ['assets', team.id, 'around', a.id],
    queryFn: async () => [...(await get({ host: ask.host, limit: 200 })).data, ...(ask.ip ? (await get({ ip: ask.ip, limit: 200 })).data : [])],
  })
  if (found.error) return <Problem error={found.error} />
  if (!found.data) return <Loading what={t.graph.title} />
  const { nodes, links } = around(a, found.data)
  if (links.length === 0) return <Card title={t.graph.title}><p className="text-sm text-muted">{t.graph.none}</p></Card>
  const columns = ([0, 1, 2, 3] as const).map((c) => [...nodes].filter(([, n]) => n.column === c).map(([key]) => key))
  // Two passes of putting each thing at the mean of what it is joined with: fewer lines cross.
  const place = new Map<string, number>()
  columns.forEach((list) => list.forEach((key, i) => place.set(key, i)))
  for (let pass = 0; pass < 2; pass++) {
    for (const list of columns) {
      const mean = (key: string) => { const near = links.filter(([x, y]) => x === key || y === key).map(([x, y]) => place.get(x === key ? y : x) ?? 0); return near.length ? near.reduce((p, q) => p + q, 0) / near.length : place.get(key)! }
      list.sort((p, q) => mean(p) - mean(q)).forEach((key, i) => place.set(key, i))
    }
  }
  const drawn = columns.map((list) => list.slice(0, most))
  const left = columns.reduce((k, list) => k + Math.max(0, list.length - most), 0)
  const tall = Math.max(...drawn.map((l) => l.length))
  const step = 30, width = 1000, box = 200
  const at = new Map<string, [number, number]>()
  drawn.forEach((list, c) => list.forEach((key, i) => at.set(key, [c * ((width - box) / 3), 28 + (i + (tall - list.length) / 2) * step])))
  const cut = (s: string) => (s.length > 28 ? `${s.slice(0, 27)}…` : s).replace(/[\p{C}\u202a-\u202e\u2066-\u2069]/gu, '·')
  return (
    <Card title={t.graph.title} flush>
      <div className="overflow-x-auto p-3" tabIndex={0} role="region" aria-label={t.graph.title}>
        <svg viewBox={`0 0 ${width} ${28 + tall * step}`} className="min-w-[44rem]" role="img" aria-label={t.graph.label(nodes.size, links.length)}>
          {t.graph.columns.map((name, c) => <text key={name} x={c * ((width - box) / 3)} y="14" className="fill-muted text-[12px] font-semibold">{name}</text>)}
          {links.map(([x, y], i) => {
            const p = at.get(x), q = at.get(y)
            if (!p || !q) return null
            const x1 = p[0] + box, x2 = q[0], mid = (x1 + x2) / 2
            return <path key={i} d={`M${x1} ${p[1] + 11}C${mid} ${p[1] + 11} ${mid} ${q[1] + 11} ${x2} ${q[1] + 11}`} fill="none" stroke="var(--edge)" strokeOpacity="0.55" />
          })}
          {[...at].map(([key, [px, py]]) => {
            const n = nodes.get(key)!
            const mine = n.text === a.host || n.text === a.name
            return <g key={key}><title>{cut(n.text)}</title><rect x={px} y={py} width={box} height="22" rx="4" fill={mine ? 'var(--accent-soft)' : 'var(--panel)'} stroke={mine ? 'var(--accent)' : 'var(--line)'} /><text x={px + 8} y={py + 15} className={`text-[12px] ${mine ? 'fill-accent' : 'fill-text'}`}>{cut(n.text)}</text></g>
          })}
        </svg>
        {left > 0 && <p className="mt-1 text-xs text-muted">{t.graph.more(left)}</p>}
      </div>
      <details className="border-t border-line px-3 py-2 text-sm"><summary className="text-muted">{t.chart.table}</summary>
        <Table label={t.graph.title} head={[t.graph.from, t.graph.to]}>
          {links.slice(0, 300).map(([x, y], i) => <tr key={i}>{[x, y].map((key) => { const n = nodes.get(key)!; return <td key={key}>{n.to ? <To to={n.to} className="link"><Shown text={n.text} max={120} /></To> : <Shown text={n.text} max={120} />}</td> })}</tr>)}
        </Table>
      </details>
    </Card>
  )
}
