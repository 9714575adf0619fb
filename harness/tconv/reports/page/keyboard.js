/*
 * The keys of the page. A key does nothing while the reader writes, or holds a modifier.
 */

/**
 * @param {Record<string, () => void>} actions by key
 */
export function listenForKeys(actions) {
  addEventListener("keydown", (event) => {
    const { target } = event;
    const writing = target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action || writing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}
