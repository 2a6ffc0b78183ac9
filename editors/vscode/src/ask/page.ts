// SPDX-License-Identifier: Apache-2.0
// The page of the view of questions, in the editor's web view: shows turns, and tells ask_view.ts what the user does.
// All text is set as text, never as markup.
import type { FromView, ToView, UsedFile } from './ask_messages';

declare function acquireVsCodeApi(): { postMessage(message: FromView): void };

const editor = acquireVsCodeApi();

function element<Kind extends HTMLElement>(id: string): Kind {
  return document.getElementById(id) as Kind;
}

const turns = element('turns');
const question = element<HTMLTextAreaElement>('question');
const thisFile = element<HTMLInputElement>('this-file');
const goOn = element<HTMLInputElement>('go-on');
const send = element<HTMLButtonElement>('send');
const cancel = element<HTMLButtonElement>('cancel');

/** The turn that is being answered. */
interface Turn {
  answer: HTMLElement;
  stage: HTMLElement;
  below: HTMLElement;
}
let turn: Turn | undefined;

function add(parent: HTMLElement, kind: string, className: string, text = ''): HTMLElement {
  const child = document.createElement(kind);
  child.className = className;
  child.textContent = text;
  parent.append(child);
  return child;
}

function ask(text: string): void {
  if (text.trim() === '' || turn !== undefined) return;
  const box = add(turns, 'section', 'turn');
  add(box, 'div', 'asked', text);
  const stage = add(box, 'div', 'stage', 'asking');
  turn = { answer: add(box, 'div', 'answer'), stage, below: add(box, 'div', 'below') };
  question.value = '';
  setRunning(true);
  editor.postMessage({ kind: 'ask', question: text, goOn: goOn.checked, thisFile: thisFile.checked });
  box.scrollIntoView({ block: 'start' });
}

function setRunning(running: boolean): void {
  send.hidden = running;
  cancel.hidden = !running;
}

function finish(): void {
  turn?.stage.remove();
  turn = undefined;
  setRunning(false);
}

/** Text with ``` fences: what is between them stands as code. */
function showAnswer(into: HTMLElement, text: string): void {
  into.replaceChildren();
  text.split(/^```.*\n?/m).forEach((part, index) => {
    if (part !== '') add(into, index % 2 === 1 ? 'pre' : 'div', 'part', part.trimEnd());
  });
}

function showFiles(below: HTMLElement, files: UsedFile[]): void {
  if (files.length === 0) return;
  const list = add(below, 'div', 'files', 'Read: ');
  for (const file of files) {
    const link = add(list, 'a', 'file', file.label) as HTMLAnchorElement;
    link.href = '#';
    link.title = file.path;
    link.onclick = (event): void => {
      event.preventDefault();
      editor.postMessage({ kind: 'open', path: file.path, line: file.line });
    };
  }
}

function take(message: ToView): void {
  if (message.kind === 'focus') return question.focus();
  if (message.kind === 'ask') return ask(message.question);
  if (turn === undefined) return;
  switch (message.kind) {
    case 'stage':
      turn.stage.textContent = message.text;
      return;
    case 'token':
      turn.stage.textContent = 'answering';
      turn.answer.append(message.text);
      return;
    case 'failed':
      add(turn.below, 'div', message.cancelled ? 'note' : 'error', message.message);
      return finish();
    case 'done':
      showAnswer(turn.answer, message.text);
      if (message.continues !== '') add(turn.below, 'div', 'note', `Continues: ${message.continues}`);
      showFiles(turn.below, message.files);
      message.footer.forEach((line) => turn && add(turn.below, 'div', 'note', line));
      goOn.disabled = false; // now there is something to continue
      finish();
  }
}

element<HTMLFormElement>('form').onsubmit = (event): void => {
  event.preventDefault();
  ask(question.value);
};
question.onkeydown = (event): void => {
  if (event.key !== 'Enter' || event.shiftKey || event.isComposing) return;
  event.preventDefault();
  ask(question.value);
};
cancel.onclick = (): void => editor.postMessage({ kind: 'cancel' });
window.addEventListener('message', (event: MessageEvent<ToView>) => take(event.data));
question.disabled = false; // what was typed before would have been lost
editor.postMessage({ kind: 'ready' });
