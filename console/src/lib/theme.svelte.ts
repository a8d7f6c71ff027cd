/** Light, dark, or as the system has it. */

const STORED = 'meantime.theme'
export type Theme = 'auto' | 'light' | 'dark'
const NEXT: Record<Theme, Theme> = { auto: 'light', light: 'dark', dark: 'auto' }

class ThemeChoice {
  value = $state<Theme>((localStorage.getItem(STORED) as Theme | null) ?? 'auto')

  next(): void {
    this.value = NEXT[this.value]
    localStorage.setItem(STORED, this.value)
    applyTheme()
  }
}

export const theme = new ThemeChoice()

export function applyTheme(): void {
  if (theme.value === 'auto') delete document.documentElement.dataset.theme
  else document.documentElement.dataset.theme = theme.value
}
