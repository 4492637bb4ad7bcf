// A server on Go's net/http that serves the pages of all targets.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"time"
)

func main() {
	address, root, keepAlive := os.Args[1], os.Args[2], os.Args[3] == "on"
	files := http.FileServer(http.Dir(root))
	http.HandleFunc("/dynamic", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, "<!DOCTYPE html>\n<title>A page made for this request</title>\n<p>%s</p>\n",
			time.Now().UTC().Format("2006-01-02T15:04:05+00:00"))
	})
	http.HandleFunc("/echo", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "application/octet-stream")
		io.Copy(w, r.Body)
	})
	http.Handle("/", files)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{IdleTimeout: 75 * time.Second}
	server.SetKeepAlivesEnabled(keepAlive)
	log.Fatal(server.Serve(listener))
}
