// Search without a server. Browsers start no workers for pages opened as files, so the theme's search worker runs in a
// hidden frame instead, which has what of a worker's scope the search uses. The theme looks for the name IFrameWorker.
if (location.protocol === "file:") {
  window.IFrameWorker = class IFrameWorker extends EventTarget {
    constructor(url) {
      super();
      this.frame = document.createElement("iframe");
      this.frame.hidden = true;
      this.ready = new Promise((resolve) => {
        this.frame.addEventListener("load", resolve, { once: true });
      });
      window.addEventListener("message", (event) => {
        if (event.source !== this.frame.contentWindow) return;
        const message = new MessageEvent("message", { data: event.data });
        this.dispatchEvent(message);
        if (this.onmessage) this.onmessage(message);
      });
      this.frame.srcdoc = `<script>
        var postMessage = (data) => parent.postMessage(data, "*");
        var importScripts = (...urls) => urls.reduce((before, url) => before.then(() => new Promise((done, failed) => {
          const script = document.createElement("script");
          Object.assign(script, { src: url, onload: done, onerror: failed });
          document.head.appendChild(script);
        })), Promise.resolve());
      </script><script src="${new URL(url, location.href)}"></script>`;
      document.body.appendChild(this.frame);
    }
    postMessage(data) {
      this.ready.then(() => this.frame.contentWindow.dispatchEvent(new MessageEvent("message", { data })));
    }
    terminate() {
      this.frame.remove();
    }
  };
  window.Worker = window.IFrameWorker;
}
