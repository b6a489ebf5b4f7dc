package llm

import (
	"net/http"
	"net/url"
)

func pass(w http.ResponseWriter, r *http.Request, u *url.URL, body []byte) {
	writeError(w, targetOf(r.Method, u).rule, http.StatusBadGateway, "agentrec: the request names no upstream to pass it on to")
}
