/** CodeMirror with the colours of the page. Loaded only where sources are shown. */

import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands'
import { javascript } from '@codemirror/lang-javascript'
import { xml } from '@codemirror/lang-xml'
import { yaml } from '@codemirror/lang-yaml'
import { HighlightStyle, bracketMatching, foldGutter, syntaxHighlighting } from '@codemirror/language'
import { lintGutter, setDiagnostics } from '@codemirror/lint'
import { EditorState, RangeSetBuilder, StateEffect, StateField } from '@codemirror/state'
import { Decoration, EditorView, drawSelection, highlightActiveLine, keymap, lineNumbers } from '@codemirror/view'
import { tags } from '@lezer/highlight'
import type { Diagnostic } from './api'

export type Editor = {
  update(shown: { lines: number[]; diagnostics: Diagnostic[] }): void
  destroy(): void
}

const LANGUAGES: Record<string, () => ReturnType<typeof yaml>> = {
  journey: yaml,
  bpmn: xml,
  flow: () => javascript(),
}

const colours = HighlightStyle.define([
  { tag: [tags.keyword, tags.atom, tags.bool, tags.null], color: 'var(--syn-word)' },
  { tag: [tags.string, tags.special(tags.string), tags.attributeValue], color: 'var(--syn-string)' },
  { tag: [tags.number], color: 'var(--syn-number)' },
  { tag: [tags.comment, tags.meta], color: 'var(--syn-comment)' },
  { tag: [tags.propertyName, tags.tagName, tags.attributeName, tags.definition(tags.variableName)], color: 'var(--syn-key)' },
])

const theme = EditorView.theme({
  '&': { color: 'var(--text)', backgroundColor: 'var(--bg)', fontSize: '12px' },
  '&.cm-focused': { outline: 'none' },
  '.cm-scroller': { fontFamily: 'var(--mono)', lineHeight: '1.6' },
  '.cm-content': { caretColor: 'var(--accent)' },
  '.cm-cursor': { borderLeftColor: 'var(--accent)' },
  '.cm-gutters': { backgroundColor: 'var(--bg-2)', color: 'var(--text-3)', border: 'none' },
  '.cm-activeLine, .cm-activeLineGutter': { backgroundColor: 'var(--bg-2)' },
  '.cm-waits': { backgroundColor: 'var(--accent-soft)', boxShadow: 'inset 3px 0 var(--accent)' },
  '&.cm-focused .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'var(--accent-soft) !important' },
  '.cm-tooltip': { backgroundColor: 'var(--bg)', color: 'var(--text)', border: '1px solid var(--line-2)', borderRadius: '6px' },
  // Without the pictures of the tool, which are data addresses that the policy of the page refuses.
  '.cm-lintRange': { backgroundImage: 'none' },
  '.cm-lintRange-error': { backgroundImage: 'none', textDecoration: 'underline wavy var(--red)' },
  '.cm-lintRange-warning': { backgroundImage: 'none', textDecoration: 'underline wavy var(--amber)' },
  '.cm-lint-marker': { width: '8px', height: '8px', borderRadius: '50%', margin: '5px 3px' },
  '.cm-lint-marker-error': { content: 'normal', backgroundColor: 'var(--red)' },
  '.cm-lint-marker-warning': { content: 'normal', backgroundColor: 'var(--amber)' },
  '.cm-foldPlaceholder': { backgroundColor: 'var(--bg-3)', color: 'var(--text-2)', border: 'none' },
})

const setLines = StateEffect.define<number[]>()
const waiting = Decoration.line({ class: 'cm-waits' })
const marked = StateField.define({
  create: () => Decoration.none,
  update(marks, transaction) {
    for (const effect of transaction.effects) {
      if (!effect.is(setLines)) continue
      const builder = new RangeSetBuilder<Decoration>()
      const { doc } = transaction.state
      for (const line of [...new Set(effect.value)].sort((a, b) => a - b)) {
        if (line <= doc.lines) builder.add(doc.line(line).from, doc.line(line).from, waiting)
      }
      return builder.finish()
    }
    return marks.map(transaction.changes)
  },
  provide: (field) => EditorView.decorations.from(field),
})

/** Typing over a selection: browsers keep the looks of what goes in inline styles, which the policy
 * refuses, so the editor replaces it itself. */
const replacing = EditorView.domEventHandlers({
  beforeinput(event, view) {
    const { inputType, data, isComposing } = event
    if (inputType !== 'insertText' || data === null || isComposing) return false
    if (view.state.selection.main.empty) return false
    event.preventDefault()
    view.dispatch(view.state.replaceSelection(data))
    return true
  },
})

export function createEditor(
  host: HTMLElement,
  options: { value: string; notation: string; label: string; onchange: ((text: string) => void) | undefined },
): Editor {
  const root = host.shadowRoot ?? host.attachShadow({ mode: 'open' })
  const { onchange } = options
  const language = LANGUAGES[options.notation]
  const view = new EditorView({
    root,
    parent: root,
    state: EditorState.create({
      doc: options.value,
      extensions: [
        lineNumbers(),
        foldGutter(),
        drawSelection(),
        bracketMatching(),
        syntaxHighlighting(colours),
        theme,
        marked,
        EditorView.contentAttributes.of({ 'aria-label': options.label, tabindex: '0' }),
        EditorState.tabSize.of(2),
        ...(language ? [language()] : []),
        ...(onchange
          ? [
              history(),
              highlightActiveLine(),
              replacing,
              lintGutter(),
              keymap.of([...defaultKeymap, ...historyKeymap, indentWithTab]),
              EditorView.updateListener.of((update) => {
                if (update.docChanged) onchange(update.state.doc.toString())
              }),
            ]
          : [EditorState.readOnly.of(true), keymap.of(defaultKeymap)]),
      ],
    }),
  })
  let scrolled = false
  return {
    update({ lines, diagnostics }) {
      const { doc } = view.state
      const effects: StateEffect<unknown>[] = [setLines.of(lines)]
      const first = lines.find((line) => line <= doc.lines)
      if (first && !scrolled) {
        // Once: afterwards the reader decides what is in view.
        scrolled = true
        effects.push(EditorView.scrollIntoView(doc.line(first).from, { y: 'center' }))
      }
      view.dispatch({ effects })
      const place = (line: number, column: number) => {
        const found = doc.line(Math.min(Math.max(line, 1), doc.lines))
        return Math.min(found.from + Math.max(column - 1, 0), found.to)
      }
      const shown = diagnostics.map((it) => {
        const from = place(it.line, it.column)
        const to = it.endLine ? place(it.endLine, it.endColumn ?? 1) : from
        const message = `${it.code}: ${it.message}${it.help ? `\n${it.help}` : ''}`
        return { from, to: Math.max(to, from), severity: it.severity === 'error' ? 'error' : 'warning', message } as const
      })
      view.dispatch(setDiagnostics(view.state, shown))
    },
    destroy() {
      view.destroy()
      root.replaceChildren()
    },
  }
}
