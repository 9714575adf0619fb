// The keys of the page. A key does nothing while the reader writes, or holds a modifier.

/** Let each key do its action. */
export function listenForKeys(actions: Record<string, () => void>) {
  addEventListener("keydown", (event) => {
    const { target } = event;
    const writing = target instanceof HTMLElement && target.closest("input, select, textarea") !== null;
    const action = Object.hasOwn(actions, event.key) ? actions[event.key] : undefined;
    if (!action || writing || event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    action();
  });
}
