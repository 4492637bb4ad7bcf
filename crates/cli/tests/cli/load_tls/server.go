// A small HTTP server over TLS, for a test: server ADDRESS CERTIFICATE KEY.
package main

import (
	"io"
	"net/http"
	"os"
)

func main() {
	http.HandleFunc("/{$}", func(w http.ResponseWriter, _ *http.Request) {
		io.WriteString(w, "hello")
	})
	panic(http.ListenAndServeTLS(os.Args[1], os.Args[2], os.Args[3], nil))
}
