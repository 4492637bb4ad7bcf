// A server on Go's net/http that serves the pages of all targets.
package main

import (
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"os"
	"strconv"
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
		// All of it first: once a reply begins, net/http drops what of the request has not been read.
		body, err := io.ReadAll(r.Body)
		if err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.Header().Set("Content-Type", "application/octet-stream")
		w.Header().Set("Content-Length", strconv.Itoa(len(body)))
		w.Write(body)
	})
	http.Handle("/", files)
	listener, err := net.Listen("tcp", address)
	if err != nil {
		log.Fatal(err)
	}
	server := &http.Server{IdleTimeout: 75 * time.Second}
	if path := os.Getenv("TARGET_ACCESS_LOG"); path != "" {
		file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
		if err != nil {
			log.Fatal(err)
		}
		server.Handler = logged(http.DefaultServeMux, file)
	}
	server.SetKeepAlivesEnabled(keepAlive)
	log.Fatal(server.Serve(listener))
}

// reply notes the status of what is written through it.
type reply struct {
	http.ResponseWriter
	status int
}

func (r *reply) WriteHeader(status int) {
	r.status = status
	r.ResponseWriter.WriteHeader(status)
}

// ReadFrom leaves the sending of files to the kernel.
func (r *reply) ReadFrom(from io.Reader) (int64, error) {
	return io.Copy(r.ResponseWriter, from)
}

// logged writes a line for each request.
func logged(next http.Handler, file *os.File) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		to := &reply{w, http.StatusOK}
		next.ServeHTTP(to, r)
		fmt.Fprintf(file, "%s %s %s %s %d\n", time.Now().UTC().Format(time.RFC3339), r.RemoteAddr, r.Method, r.URL.Path, to.status)
	})
}
