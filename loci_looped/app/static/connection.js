// One WebSocket; requests are answered in order, so each answer belongs to the oldest request.

const FULL = 4001, IDLE = 4002;     // why the server closes a connection
const decoder = new TextDecoder();

/** [length of header | header in JSON | parts] -> the header, with each part under its name. */
export function unpack(buffer) {
  const length = new DataView(buffer).getUint32(0, true);
  const message = JSON.parse(decoder.decode(new Uint8Array(buffer, 4, length)));
  let place = 4 + length;
  for (const part of message.parts) {
    const bytes = new Uint8Array(buffer, place, part.bytes);
    message[part.name] = part.shape ? { data: bytes, shape: part.shape } : bytes;
    place += part.bytes;
  }
  delete message.parts;
  return message;
}

export class LabError extends Error {}

export class Connection {
  waiting = [];                     // requests without an answer, oldest first
  socket = null;
  opening = null;                   // the promise of a socket that is being opened
  words = "";                       // the server's last words, if they were an error

  constructor(onClose) { this.onClose = onClose; }

  get isOpen() { return this.socket !== null && this.socket.readyState === WebSocket.OPEN; }

  /** Resolves when requests can be sent. */
  open() {
    if (this.isOpen) return Promise.resolve();
    if (this.opening) return this.opening;
    this.opening = new Promise((resolve, reject) => {
      const scheme = location.protocol === "https:" ? "wss:" : "ws:";
      const socket = new WebSocket(`${scheme}//${location.host}/api/session`);
      socket.binaryType = "arraybuffer";
      socket.onopen = () => { this.socket = socket; this.opening = null; resolve(); };
      socket.onmessage = (event) => this.receive(unpack(event.data));
      socket.onclose = (event) => {
        this.opening = null;
        this.socket = null;
        const words = event.code === FULL && this.words ? this.words : event.code === IDLE
          ? "The lab has put this tab to rest because nothing happened for a while."
          : "The connection to the lab is lost. Is `loci lab` still running?";
        this.words = "";
        for (const { reject: refuse } of this.waiting.splice(0)) refuse(new LabError(words));
        reject(new LabError(words));
        this.onClose(words);
      };
    });
    return this.opening;
  }

  receive(message) {
    const waiting = this.waiting.shift();
    this.words = message.type === "error" ? message.words : "";
    if (!waiting) return;                    // said before the door is shut
    if (message.type === "error") waiting.reject(new LabError(message.words));
    else waiting.resolve(message);
  }

  async ask(request) {
    await this.open();
    return new Promise((resolve, reject) => {
      this.waiting.push({ resolve, reject });
      this.socket.send(JSON.stringify(request));
    });
  }
}

export async function getJson(address) {
  const response = await fetch(address);
  const answer = await response.json().catch(() => ({}));
  if (!response.ok) throw new LabError(answer.error || `The lab answered ${response.status}.`);
  return answer;
}

/** Send a film; `progress` gets the share that has been sent. */
export function uploadFilm(file, progress) {
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", `/api/clips?name=${encodeURIComponent(file.name)}`);
    request.upload.onprogress = (event) => event.lengthComputable && progress(event.loaded / event.total);
    request.onload = () => {
      let answer = {};
      try { answer = JSON.parse(request.responseText); } catch { /* answered below */ }
      if (request.status === 200) resolve(answer);
      else reject(new LabError(answer.error || "The film could not be sent."));
    };
    request.onerror = () => reject(new LabError("The film could not be sent: the lab closed the connection."));
    request.send(file);
  });
}
