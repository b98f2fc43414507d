const key = 'vedette.theme'

export type Theme = 'light' | 'dark' | 'system'

const system = window.matchMedia('(prefers-color-scheme: dark)')

export const theme = (): Theme => (localStorage.getItem(key) as Theme | null) ?? 'system'

function apply() {
  const now = theme()
  document.documentElement.dataset.theme = now === 'system' ? (system.matches ? 'dark' : 'light') : now
}

export function setTheme(to: Theme) {
  if (to === 'system') localStorage.removeItem(key)
  else localStorage.setItem(key, to)
  apply()
}

export function startTheme() {
  apply()
  system.addEventListener('change', apply)
}
