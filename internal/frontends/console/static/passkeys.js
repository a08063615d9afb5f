// Asks for the signature of a passkey before a form is sent. The server says what to sign, and
// checks the answer.
"use strict";

(() => {
  const bytes = (text) => Uint8Array.from(atob(text.replace(/-/g, "+").replace(/_/g, "/")), (c) => c.charCodeAt(0));
  const text = (buffer) => btoa(String.fromCharCode(...new Uint8Array(buffer))).replace(/\+/g, "-").replace(/\//g, "_").replace(/=/g, "");

  // options converts what the server sent to what the browser expects.
  const options = (sent) => {
    const list = (some) => some?.map((one) => ({ ...one, id: bytes(one.id) }));
    const made = { ...sent, challenge: bytes(sent.challenge) };
    if (sent.user) made.user = { ...sent.user, id: bytes(sent.user.id) };
    if (sent.allowCredentials) made.allowCredentials = list(sent.allowCredentials);
    if (sent.excludeCredentials) made.excludeCredentials = list(sent.excludeCredentials);
    return made;
  };

  // answer converts a credential to what the server expects.
  const answer = (credential) => {
    const response = {};
    for (const name of ["clientDataJSON", "attestationObject", "authenticatorData", "signature", "userHandle"]) {
      if (credential.response[name]) response[name] = text(credential.response[name]);
    }
    if (credential.response.getTransports) response.transports = credential.response.getTransports();
    return JSON.stringify({ id: credential.id, rawId: text(credential.rawId), type: credential.type, response });
  };

  // problems are the errors of browsers in plain words.
  const problems = {
    NotAllowedError: "Nothing was signed: the question was closed or took too long, or no authenticator has a passkey for this. Try again.",
    InvalidStateError: "This authenticator already has a passkey for this workspace. Use another one.",
    SecurityError: "Browsers do not offer passkeys at this address. Open the page at ",
    NotSupportedError: "This browser or authenticator does not support what is needed. Try another one.",
    AbortError: "Nothing was signed, because the question was closed. Try again.",
  };

  const run = async (form) => {
    const asked = await fetch(form.dataset.passkey, { method: "POST", body: new URLSearchParams(new FormData(form)) });
    if (!asked.ok) throw new Error(await asked.text());
    const question = await asked.json();
    if (location.origin !== question.origin) throw new Error(problems.SecurityError + question.origin);
    if (!navigator.credentials || !window.PublicKeyCredential) throw new Error(problems.NotSupportedError);
    const result = { nonce: question.nonce };
    try {
      if (question.get) result.assertion = answer(await navigator.credentials.get({ publicKey: options(question.get) }));
      if (question.create) result.attestation = answer(await navigator.credentials.create({ publicKey: options(question.create) }));
    } catch (error) {
      const words = problems[error.name] ?? `The passkey cannot be used: ${error.message}`;
      throw new Error(error.name === "SecurityError" ? words + question.origin : words);
    }
    return result;
  };

  document.addEventListener("submit", async (event) => {
    const form = event.target;
    if (event.defaultPrevented || !form.dataset.passkey || !event.submitter?.hasAttribute("data-signs")) return;
    event.preventDefault();
    const message = form.querySelector("[data-passkey-message]");
    message.hidden = true;
    try {
      const result = await run(form);
      if (event.submitter.name) result[event.submitter.name] = event.submitter.value;
      for (const [name, value] of Object.entries(result)) {
        const field = form.querySelector(`input[type=hidden][name=${name}]`) ?? form.appendChild(document.createElement("input"));
        Object.assign(field, { type: "hidden", name, value });
      }
      form.submit();
    } catch (error) {
      delete form.dataset.sent;
      message.textContent = error.message;
      message.hidden = false;
    }
  });
})();
