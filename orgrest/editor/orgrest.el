;;; orgrest.el --- HTTP requests in Org and request files  -*- lexical-binding: t; -*-

;; Author: The authors of orgrest
;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: comm, tools, outlines
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; The part of orgrest that runs in Emacs.  The language server of orgrest does the work: it reads
;; the requests, completes and sends them, and lays out the responses.  The command `emacs' of
;; orgrest prints the line for the init file.
;;
;; Org: C-c C-c in a source block in restclient, http or rest evaluates it like any other block, but
;; does not wait for the response.  Variables, named blocks, calls and :results work as in Org.  The
;; functions that Babel calls for these languages are defined here.  They replace the functions of
;; ob-restclient, unless that is loaded later.  C-c C-c also sends the request of a verb heading.
;;
;; Request files (.http, .rest): `orgrest-mode' highlights, finds and sends requests.
;;
;; For diagnostics, eglot and lsp-mode know "orgrest lsp" as the server of both modes.

;;; Code:

;; Emacs loads this file at startup, so this loads no library that Emacs has not loaded anyway.
(eval-when-compile
  (require 'org-src))
(declare-function jsonrpc-async-request "jsonrpc" (connection method params &rest args))
(declare-function jsonrpc-error "jsonrpc" (&rest args))
(declare-function jsonrpc-notify "jsonrpc" (connection method params))
(declare-function jsonrpc-request "jsonrpc" (connection method params &rest args))
(declare-function jsonrpc-running-p "jsonrpc" (connection))
(declare-function jsonrpc-shutdown "jsonrpc" (connection &optional cleanup))
(declare-function jsonrpc-stderr-buffer "jsonrpc" (connection))
(declare-function jsonrpc--process "jsonrpc" (connection))
(declare-function lsp-register-client "ext:lsp-mode" (client))
(declare-function lsp-stdio-connection "ext:lsp-mode" (command &optional test-command))
(declare-function make-instance "eieio" (class &rest slots))
(declare-function make-lsp-client "ext:lsp-mode" (&rest arguments))
(declare-function org-at-heading-p "org" (&optional _))
(declare-function org-babel--get-vars "ob-core" (params))
(declare-function org-babel-execute-src-block "ob-core" (&optional arg info params &rest _))
(declare-function org-babel-get-src-block-info "ob-core" (&optional no-eval datum))
(declare-function org-babel-lob-get-info "ob-lob" (&optional datum &rest _))
(declare-function org-babel-named-data-regexp-for-name "ob-core" (name))
(declare-function org-babel-result-end "ob-core" ())
(declare-function org-babel-where-is-src-block-head "ob-core" (&optional src-block))
(declare-function org-babel-where-is-src-block-result "ob-core" (&optional insert info hash))
(declare-function org-display-inline-images "org" (&optional linked refresh beg end))
(declare-function org-edit-src-save "org-src" ())
(declare-function org-element-at-point "org-element" (&rest _))
(declare-function org-element-property "org-element" (property element &rest _))
(declare-function org-element-type "org-element" (element &rest _))
(declare-function org-get-tags "org" (&optional pos-or-element local))
(declare-function url-hexify-string "url-util" (string &optional allowed-chars))
(declare-function url-unhex-string "url-util" (str &optional allow-newlines))
(defvar eglot-server-programs)
(defvar lsp-language-id-configuration)
(defvar org-babel-result-regexp)
(defvar org-src-lang-modes)
(defvar url-unreserved-chars)

(defgroup orgrest nil
  "HTTP requests in Org and request files."
  :group 'comm
  :prefix "orgrest-")

(defcustom orgrest-command '("orgrest")
  "The program orgrest, and the arguments that come before all others."
  :type '(repeat string)
  :risky t)

(defconst orgrest-languages '("restclient" "http" "rest")
  "The languages of Org source blocks that contain requests.")

;;; Documents

(defun orgrest--text ()
  "Return the whole text of the buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun orgrest--base ()
  "Return this buffer, or its base buffer if it is indirect."
  (or (buffer-base-buffer) (current-buffer)))

(defun orgrest--path ()
  "Return the path of the file of this buffer, which may be indirect.
Without a file, the path is made from the name of the buffer, because
image files are named after it, and other buffers may write theirs to
the same folder."
  (let* ((file (buffer-file-name (orgrest--base)))
         (folder (if file (file-name-directory file) default-directory)))
    (expand-file-name
     (if file
         (file-name-nondirectory file)
       (concat "buffer"
               (replace-regexp-in-string "\\`[^[:alnum:]]*\\|[^[:alnum:]]+" "-" (buffer-name))
               (if (derived-mode-p 'org-mode) ".org" ".http")))
     (if (and (not (file-remote-p folder)) (file-directory-p folder))
         folder
       temporary-file-directory))))

(defun orgrest--uri ()
  "Return the URI that identifies this buffer to the language server."
  (require 'url-util)
  (let ((path (orgrest--path)))
    (concat "file://" (if (string-prefix-p "/" path) "" "/")
            (url-hexify-string (encode-coding-string path 'utf-8-unix)
                               (cons ?/ url-unreserved-chars)))))

(defun orgrest--place ()
  "Return point as a position of the language server protocol."
  (save-restriction
    (widen)
    (list :line (1- (line-number-at-pos)) :character (- (point) (line-beginning-position)))))

(defun orgrest--point (place)
  "Return the buffer position for PLACE, a position of the protocol."
  (save-excursion
    (goto-char (point-min))
    (forward-line (plist-get place :line))
    (min (+ (point) (plist-get place :character)) (line-end-position))))

;;; The language server

(defconst orgrest--idle 600
  "The number of seconds after which an unused language server is ended.")

(defvar orgrest--servers nil
  "The connections to language servers, by command and process environment.")

(defvar-local orgrest--opened nil
  "The document that a server has opened for this buffer: (SERVER URI).
Org copies this variable to the buffer that it exports.")

(defvar-local orgrest--pending nil
  "The requests in progress here: the markers of blocks, or t for others.")

(defun orgrest--program ()
  "Return the command of the language server."
  (unless (executable-find (car orgrest-command))
    (user-error "Program %s not found; see `orgrest-command'" (car orgrest-command)))
  (append orgrest-command '("lsp")))

(defun orgrest--server ()
  "Return the server for this process environment; start it if necessary."
  (require 'jsonrpc)
  (let* ((program (orgrest--program))
         (key (cons program (copy-sequence process-environment))) ; `setenv' changes it
         (server (cdr (assoc key orgrest--servers))))
    (unless (and server (jsonrpc-running-p server))
      (setq server (orgrest--start program))
      (push (cons key server) orgrest--servers))
    (orgrest--end-later server)
    server))

(defun orgrest--start (program)
  "Start the language server PROGRAM and return the connection to it."
  (let* ((name (generate-new-buffer-name "orgrest"))
         (default-directory (file-name-directory (orgrest--path)))
         (server (make-instance
                  'jsonrpc-process-connection
                  :name name
                  :events-buffer-scrollback-size 0
                  :notification-dispatcher #'orgrest--notified
                  :request-dispatcher #'orgrest--asked
                  :on-shutdown #'orgrest--ended
                  :process (lambda ()
                             (make-process
                              :name name :command program :noquery t
                              :connection-type 'pipe :coding 'utf-8-emacs-unix
                              :stderr (get-buffer-create (format "*%s stderr*" name)))))))
    ;; The server answers in order, so there is no need to wait for this.
    (orgrest--call
     server :initialize
     '( :processId nil :rootUri nil
        :capabilities ( :general (:positionEncodings ["utf-32"])
                        :textDocument (:diagnostic (:dynamicRegistration :json-false))
                        :window (:showDocument (:support t))
                        :workspace ( :applyEdit t :workspaceEdit (:documentChanges t))
                        :experimental (:orgrest (:prompts t))))
     #'ignore)
    (orgrest--notify server :initialized (make-hash-table))
    server))

(defun orgrest--notify (server method params)
  "Send the notification METHOD with PARAMS to SERVER, unless it has ended."
  (when (jsonrpc-running-p server)
    (jsonrpc-notify server method params)))

(defun orgrest--call (server method params then)
  "Send the request METHOD with PARAMS to SERVER, then call THEN.
The arguments of THEN are the result, and the error message or nil."
  (let* ((process (jsonrpc--process server))
         (count (lambda (by)
                  (process-put process 'orgrest-asked
                               (+ by (or (process-get process 'orgrest-asked) 0))))))
    (funcall count 1)
    (condition-case problem
        (jsonrpc-async-request
         server method params
         :timeout nil
         :success-fn (lambda (result)
                       (funcall count -1)
                       (funcall then result nil))
         :error-fn (lambda (problem)
                     (funcall count -1)
                     (funcall then nil (if (jsonrpc-running-p server)
                                           (plist-get problem :message)
                                         (orgrest--last-words server)))))
      (error (if (jsonrpc-running-p server)
                 (signal (car problem) (cdr problem))
               (funcall then nil (orgrest--last-words server)))))))

(defun orgrest--last-words (server)
  "Return the error message that SERVER printed before it ended."
  (let ((errors (jsonrpc-stderr-buffer server)))
    (while (and (get-buffer-process errors)
                (accept-process-output (get-buffer-process errors) 1)))
    (with-current-buffer errors
      (goto-char (point-min))
      (if (re-search-forward "^\\(?:orgrest: \\)?\\(.+\\)" nil t)
          (match-string 1)
        "orgrest ended without saying why"))))

(defun orgrest--end-later (server)
  "End SERVER once it has not been used for `orgrest--idle' seconds."
  (let* ((process (jsonrpc--process server))
         (timer (process-get process 'orgrest-timer)))
    (when timer
      (cancel-timer timer))
    (process-put process 'orgrest-timer (run-at-time orgrest--idle nil #'orgrest--end server))))

(defun orgrest--end (server)
  "End SERVER, unless it is still answering a request."
  (if (> (or (process-get (jsonrpc--process server) 'orgrest-asked) 0) 0)
      (orgrest--end-later server)
    (let ((inhibit-message t))
      (jsonrpc-shutdown server t))))

(defun orgrest--ended (server)
  "Forget SERVER, which has ended."
  (let ((timer (process-get (jsonrpc--process server) 'orgrest-timer)))
    (when timer
      (cancel-timer timer)))
  (setq orgrest--servers (seq-remove (lambda (pair) (eq (cdr pair) server)) orgrest--servers)))

(defun orgrest--sent (server uri)
  "Return (BUFFER . VERSION) of the text that SERVER has for URI, or nil."
  (cdr (assoc uri (process-get (jsonrpc--process server) 'orgrest-sent))))

(defun orgrest--set-sent (server uri sent)
  "Record that SERVER has SENT, a value of `orgrest--sent', for URI."
  (let* ((process (jsonrpc--process server))
         (others (assoc-delete-all uri (process-get process 'orgrest-sent))))
    (process-put process 'orgrest-sent (if sent (cons (cons uri sent) others) others))))

(defun orgrest--close ()
  "Notify the language server that this buffer is closed.
Another buffer may still have the same document open."
  (pcase orgrest--opened
    (`(,server ,uri)
     (setq orgrest--opened nil)
     (unless (or (not (jsonrpc-running-p server))
                 (seq-some (lambda (buffer)
                             (let ((opened (buffer-local-value 'orgrest--opened buffer)))
                               (and (eq (car opened) server) (equal (nth 1 opened) uri))))
                           (buffer-list)))
       (orgrest--set-sent server uri nil)
       (orgrest--notify server :textDocument/didClose `(:textDocument (:uri ,uri)))))))

(defun orgrest--synchronize ()
  "Send the text of this buffer to the language server; return the server."
  (let* ((server (orgrest--server))
         (uri (orgrest--uri))
         (text (orgrest--text))
         (language (if (derived-mode-p 'org-mode) "org" "http"))
         (base (orgrest--base))
         (version (buffer-chars-modified-tick base)))
    (when (string-match-p "[\x3fff80-\x3fffff]" text)
      (user-error "The buffer has bytes that are not text in UTF-8"))
    (with-current-buffer base
      (unless (and (eq (car orgrest--opened) server) (equal (nth 1 orgrest--opened) uri))
        (orgrest--close)
        (setq orgrest--opened (list server uri))
        (add-hook 'kill-buffer-hook #'orgrest--close nil t))
      (let ((sent (orgrest--sent server uri)))
        (cond ((null sent)
               (orgrest--notify server :textDocument/didOpen
                               `(:textDocument ( :uri ,uri :languageId ,language
                                                 :version ,version :text ,text))))
              ((not (equal sent (cons base version)))
               (orgrest--notify server :textDocument/didChange
                               `( :textDocument (:uri ,uri :version ,version)
                                  :contentChanges [(:text ,text)])))))
      (orgrest--set-sent server uri (cons base version)))
    server))

(defun orgrest--ask (method params then)
  "Send the request METHOD with PARAMS about this buffer, then call THEN.
The arguments of THEN are the result, and the error message or nil."
  (orgrest--call (orgrest--synchronize) method
                 `(:textDocument (:uri ,(orgrest--uri)) ,@params)
                 then))

(defun orgrest--wait (method params)
  "Send the request METHOD with PARAMS about this buffer; return its result.
Quitting cancels the request.  Signal a `user-error' if it fails."
  (let (done result failure)
    (orgrest--ask method params
                  (lambda (given reason) (setq done t result given failure reason)))
    (unwind-protect
        (while (not done)
          (accept-process-output nil 0.1))
      (unless done
        (orgrest--command "orgrest.cancel" #'ignore)))
    (when failure
      (user-error "%s" failure))
    result))

(defun orgrest--later (key method params then)
  "Send the request METHOD with PARAMS in the background, then call THEN.
Until then, KEY is in `orgrest--pending'."
  (let ((base (orgrest--base)))
    (orgrest--ask method params
                  (lambda (result failure)
                    ;; Call it outside of the process filter, which must not be entered again.
                    (run-at-time 0 nil
                                 (lambda ()
                                   (when (buffer-live-p base)
                                     (with-current-buffer base
                                       (setq orgrest--pending (delq key orgrest--pending))))
                                   (funcall then result failure)))))
    (with-current-buffer base
      (push key orgrest--pending))
    (message "orgrest: sent...")))

(defun orgrest--arguments (name)
  "Return the parameters that run the command NAME of the server at point."
  `( :command ,name
     :arguments [(:uri ,(orgrest--uri) :line ,(plist-get (orgrest--place) :line))]))

(defun orgrest--command (name then)
  "Run the command NAME of the server, then call THEN like `orgrest--ask'."
  (orgrest--ask :workspace/executeCommand (orgrest--arguments name) then))

(defun orgrest-cancel ()
  "Cancel the requests in progress in this buffer."
  (interactive)
  (unless (buffer-local-value 'orgrest--pending (orgrest--base))
    (user-error "No request is under way"))
  (orgrest--command "orgrest.cancel" #'ignore))

(defun orgrest--notified (_server method params)
  "Show the message in PARAMS if the notification METHOD is a message."
  (when (eq method 'window/showMessage)
    (message "%s" (plist-get params :message))))

(defun orgrest--asked (server method params)
  "Return the answer to the request METHOD from SERVER with PARAMS."
  (let* ((process (jsonrpc--process server))
         (filter (process-filter process)))
    ;; The filter must not be entered again while the user answers.
    (set-process-filter process t)
    (unwind-protect
        (pcase method
          ('workspace/applyEdit (orgrest--apply (plist-get params :edit)))
          ('window/showDocument
           (if (eq (plist-get params :external) t)
               (progn (browse-url (plist-get params :uri))
                      '(:success t))
             '(:success :json-false)))
          ('window/showMessageRequest
           (let ((answer (with-local-quit
                           (completing-read
                            (concat (plist-get params :message) " ")
                            (mapcar (lambda (action) (plist-get action :title))
                                    (plist-get params :actions))
                            nil t))))
             (and answer (not (equal answer "")) (list :title answer))))
          ('orgrest/prompt
           (let* ((question (concat (plist-get params :message) " "))
                  (answer (with-local-quit
                            (if (eq (plist-get params :hidden) t)
                                (read-passwd question)
                              (read-string question)))))
             (and answer (list :text answer))))
          (_ (jsonrpc-error :code -32601 :message "not supported")))
      (set-process-filter process filter))))

(defun orgrest--apply (edit)
  "Apply EDIT, the insertion of a result, unless the buffer has changed.
Send the new text to the server, which waits for it before it inserts the
next result, or tries again."
  (let* ((change (elt (plist-get edit :documentChanges) 0))
         (document (plist-get change :textDocument))
         (buffer (seq-find (lambda (buffer)
                             (equal (nth 1 (buffer-local-value 'orgrest--opened buffer))
                                    (plist-get document :uri)))
                           (buffer-list))))
    (if (null buffer)
        '(:applied :json-false :failureReason "the buffer was killed")
      (with-current-buffer buffer
        (if (not (equal (plist-get document :version) (buffer-chars-modified-tick)))
            (progn (orgrest--synchronize)
                   '(:applied :json-false :failureReason "the buffer has changed"))
          (save-excursion
            (save-restriction
              (widen)
              (mapc (lambda (one)
                      (let ((range (plist-get one :range)))
                        (goto-char (orgrest--point (plist-get range :start)))
                        (delete-region (point) (orgrest--point (plist-get range :end)))
                        (insert (plist-get one :newText))))
                    (plist-get change :edits))))
          (orgrest--synchronize)
          '(:applied t))))))

;;; Org Babel

(defvar org-babel-default-header-args:restclient '((:results . "raw"))
  "Default header arguments of restclient blocks, as in ob-restclient.")
(defvar org-babel-default-header-args:http '((:results . "raw"))
  "Default header arguments of http blocks.")
(defvar org-babel-default-header-args:rest '((:results . "raw"))
  "Default header arguments of rest blocks.")

(defalias 'org-babel-execute:restclient #'orgrest--babel)
(defalias 'org-babel-execute:http #'orgrest--babel)
(defalias 'org-babel-execute:rest #'orgrest--babel)

(defun org-babel-variable-assignments:restclient (params)
  "Return lines that define the variables in PARAMS, for above a request."
  (mapcar (lambda (pair) (format ":%s = %s" (car pair) (cdr pair))) (org-babel--get-vars params)))
(defalias 'org-babel-variable-assignments:http #'org-babel-variable-assignments:restclient)
(defalias 'org-babel-variable-assignments:rest #'org-babel-variable-assignments:restclient)

(defvar orgrest--evaluating nil
  "The position of the block that `orgrest--evaluate' is preparing.
While that inserts the result, a list of arguments for `orgrest--value'
instead.")

(defvar orgrest--answer nil
  "How to insert the result of the block that is evaluated: (TEXT . ROOM).
TEXT is the text to insert unchanged, or nil if Org lays out the result.
ROOM is (START END OLD GAP): OLD is the old result between these markers,
and GAP consists of blank lines to insert below the new result.  If ROOM
is nil, Org finds the old result.")

(defun orgrest--babel (body params)
  "Evaluate the block at point, which has BODY and header arguments PARAMS."
  (cond
   ((consp orgrest--evaluating)
    (let ((arguments orgrest--evaluating))
      (setq orgrest--evaluating nil)    ; blocks that :post refers to are evaluated as usual
      (apply #'orgrest--value arguments)))
   ((and orgrest--evaluating (equal orgrest--evaluating (org-babel-where-is-src-block-head)))
    (throw 'orgrest--prepared (list body params)))
   (t (let ((text (orgrest--text)))
        (orgrest--value (orgrest--wait :orgrest/babel (orgrest--block body params))
                        params text 0)))))

(defun orgrest--block (body params)
  "Return parameters that describe the block at point with BODY and PARAMS."
  ;; Quoted values may contain variables; the results of other blocks are never searched for them.
  (let ((written (orgrest--variables "\""))
        (texts (orgrest--variables "\\([^][()\" \t]+\\)[ \t]*\\'" #'orgrest--text-p))
        values literal arguments)
    (dolist (pair params)
      (pcase (car pair)
        (:var (let* ((name (symbol-name (cadr pair)))
                     (value (orgrest--json (cddr pair)))
                     (variable (vector name (if (and (stringp value) (member name texts))
                                                (replace-regexp-in-string "\n\\'" "" value)
                                              value))))
                (if (member name written)
                    (push variable values)
                  (push variable literal))))
        ((or :results :result-params :result-type :colname-names :rowname-names))
        ((and :output-dir (guard (assq :file params)))) ; Org has put it in front of :file
        (_ (push (vector (substring (symbol-name (car pair)) 1) (orgrest--argument (cdr pair)))
                 arguments))))
    `( :line ,(line-number-at-pos nil t)
       :body ,body
       :arguments ,(vconcat (nreverse arguments))
       :results ,(vconcat (cdr (assq :result-params params)))
       :values ,(vconcat (nreverse values))
       :literal ,(vconcat (nreverse literal)))))

(defun orgrest--value (answer params text moved)
  "Return the value for Babel in ANSWER; PARAMS are the header arguments.
Also set `orgrest--answer'.  ANSWER has a range in TEXT, and the block
has MOVED by this number of characters."
  (seq-do (lambda (note) (message "orgrest: %s" note)) (plist-get answer :notes))
  (let ((inserted (plist-get answer :text))
        (result (plist-get answer :result))
        (words (cdr (assq :result-params params))))
    (setq orgrest--answer
          (cons inserted
                (pcase (append (plist-get answer :room) nil)
                  (`(,start ,end ,gap)
                   (list (copy-marker (+ 1 start moved)) (copy-marker (+ 1 end moved))
                         (substring text start end) gap)))))
    (cond
     (inserted (unless (cdr (assq :file params)) ; otherwise, Org would write it to that file
                 inserted))
     ((not (vectorp result)) result)
     (t (mapcar (lambda (row)
                  (cond (row (if (vectorp row) (append row nil) row))
                        ((or (member "table" words) (member "vector" words)) 'hline)))
                result)))))

(defun orgrest--execute (execute &rest arguments)
  "Call EXECUTE with ARGUMENTS, to evaluate a block."
  (let (orgrest--answer)
    (apply execute arguments)))

(defun orgrest--insert-result (insert result &optional words info hash &rest others)
  "Call INSERT with RESULT, or with the text of `orgrest--answer'.
WORDS are those of :results, INFO describes the block, and HASH is the
hash of a cached block.  INSERT also gets these and OTHERS."
  (pcase-let ((`(,text . ,room) orgrest--answer))
    (when text
      (setq result text
            words (cons "raw" (seq-filter (lambda (word)
                                            (member word '("replace" "append" "prepend")))
                                          words))
            info (copy-sequence info))
      (setf (nth 2 info) (seq-remove (lambda (pair) (eq (car pair) :wrap)) (nth 2 info))))
    (when (and (orgrest--room-p room) (orgrest--make-room room hash))
      (push "replace" words))           ; also if it appends results otherwise
    (apply insert result words info hash others)))

(defun orgrest--room-p (room)
  "Return non-nil if the old result of ROOM is still in the buffer."
  (pcase room
    (`(,start ,end ,old ,_)
     (save-restriction
       (widen)
       (equal old (buffer-substring-no-properties start end))))))

(defun orgrest--make-room (room hash)
  "Prepare inserting a result into ROOM, whose keyword gets HASH, unless nil.
Return non-nil if it had another hash.  Otherwise Org would find that,
and remove the next element, of any type."
  (pcase-let ((`(,start ,end ,_ ,gap) room)
              (case-fold-search t))
    (save-excursion
      (save-restriction
        (widen)
        (goto-char start)
        (unless (bolp)                  ; a keyword at the very end
          (insert "\n"))
        (forward-line -1)
        (cond
         ((not (looking-at org-babel-result-regexp)) ; Org adds a keyword, and one blank line
          (goto-char start)
          (insert gap)
          nil)
         ((and hash
               (not (equal (match-string 1) hash))
               (looking-at "[ \t]*#\\+[a-z]+\\(\\(?:\\[.*?\\]\\)?\\):"))
          (replace-match (format "[%s]" hash) t t nil 1)
          (goto-char end)
          (when (and (equal gap "") (not (looking-at-p "[ \t]*$")))
            (setf (nth 3 room) "\n"))
          t))))))

(defun orgrest--result-end ()
  "Return the end of the old result at point if the language server found it.
Also insert the blank lines below it."
  (pcase (cdr orgrest--answer)
    ((and `(,start ,end ,_ ,gap) room)
     (when (and (= (point) start) (orgrest--room-p room))
       (save-excursion
         (goto-char end)
         (insert gap))
       (marker-position end)))))

(advice-add 'org-babel-execute-src-block :around #'orgrest--execute)
(advice-add 'org-babel-insert-result :around #'orgrest--insert-result)
(advice-add 'org-babel-result-end :before-until #'orgrest--result-end)

(defun orgrest--evaluate ()
  "Evaluate the source block at point, and insert its result when it arrives.
Org prepares the evaluation up to the request, which is sent in the
background.  When the result has arrived, Org evaluates the block again
and gets this result."
  (let* ((arg current-prefix-arg)
         (head (org-babel-where-is-src-block-head))
         (info (org-babel-get-src-block-info))
         (prepared (progn
                     (when (seq-find (lambda (key) (equal key head))
                                     (mapcar #'marker-position
                                             (remq t (buffer-local-value 'orgrest--pending
                                                                         (orgrest--base)))))
                       (user-error "This block is being evaluated: M-x orgrest-cancel cancels it"))
                     (catch 'orgrest--prepared
                       (let ((orgrest--evaluating head))
                         (org-babel-execute-src-block arg info))
                       nil))))               ; not evaluated, or its result is cached
    (pcase prepared
      (`(,body ,params)
       (setq info (copy-sequence info))
       (setf (nth 1 info) body
             (nth 2 info) params)
       (save-excursion
         (goto-char head)
         (let ((start (copy-marker head t)) ; text inserted before the block moves it
               (end (copy-marker (line-end-position)))
               (text (orgrest--text)))
           (orgrest--later start :orgrest/babel (orgrest--block body params)
                           (lambda (answer failure)
                             (if failure
                                 (message "orgrest: %s" failure)
                               (orgrest--insert answer arg info start end text head))))))))))

(defun orgrest--insert (answer arg info start end text head)
  "Insert ANSWER as the result of the block of INFO, from START to END.
ARG is the prefix argument of the evaluation.  At that time the text of
the buffer was TEXT, and the block was at HEAD."
  (let ((buffer (marker-buffer start)))
    (if (not (and buffer
                  (with-current-buffer buffer
                    (save-excursion
                      (save-restriction
                        (widen)
                        (goto-char start)
                        (and (< start end)
                             (looking-at-p (concat "[ \t]*#\\+begin_src[ \t]+" (car info) "\\b"))
                             (equal (org-babel-where-is-src-block-head)
                                    (marker-position start))))))))
        (message "orgrest: the block was removed, so its result was not inserted")
      (with-current-buffer buffer
        (save-excursion
          (save-restriction
            (widen)
            (goto-char start)
            (setf (nth 5 info) (point))
            (let ((orgrest--evaluating (list answer (nth 2 info) text (- start head))))
              (org-babel-execute-src-block arg info))
            (orgrest--show-images start)))))
    (set-marker start nil)
    (set-marker end nil)))

(defun orgrest--show-images (start)
  "Show the images that the result of the block at START links to."
  (goto-char start)
  (let ((result (and (display-graphic-p) (org-babel-where-is-src-block-result))))
    (when result
      (goto-char result)
      (forward-line)
      (org-display-inline-images nil t result (org-babel-result-end)))))

(defun orgrest--confirmed-p (&rest _)
  "Return non-nil if the user has already agreed to the evaluation."
  (consp orgrest--evaluating))

(advice-add 'org-babel-confirm-evaluate :before-until #'orgrest--confirmed-p)

(defun orgrest--send-org ()
  "Send the request at point in an Org document, and return non-nil.
Return nil if there is no request.  For `org-ctrl-c-ctrl-c-hook'."
  (let* ((element (org-element-at-point))
         (type (org-element-type element))
         (language (org-element-property :language element)))
    (cond
     ((and (eq type 'src-block) (member language orgrest-languages)
           (org-babel-where-is-src-block-head))
      (orgrest--evaluate)
      t)
     ((if (eq type 'src-block)
          (and (equal language "verb") (not (fboundp 'org-babel-execute:verb)))
        (and (memq type '(headline paragraph)) (member "verb" (org-get-tags))))
      (orgrest--later t :workspace/executeCommand (orgrest--arguments "orgrest.send")
                      (lambda (result failure)
                        (message "orgrest: %s" (or failure (plist-get result :message)))))
      t))))

(defun orgrest--argument (value)
  "Return VALUE, the value of a header argument, as text, or nil if it is nil."
  (if (or (null value) (stringp value)) value (format "%s" value)))

(defun orgrest--json (value)
  "Return VALUE, the value of a variable, for JSON; tables lose their rules."
  (cond ((or (stringp value) (numberp value)) value)
        ((and (listp value) (listp (cdr value)))
         (vconcat (mapcar #'orgrest--json (remq 'hline value))))
        (t (format "%s" value))))

(defun orgrest--variables (assigned &optional test)
  "Return the names of the block's variables whose value matches ASSIGNED.
ASSIGNED is a regexp for the text behind `='.  If TEST is non-nil, it
must also return non-nil for the first group of ASSIGNED."
  (let ((info (or (org-babel-get-src-block-info 'light) (org-babel-lob-get-info)))
        (regexp (concat "\\`[ \t]*\\([^ \t=]+\\)[ \t]*=[ \t]*" assigned))
        names)
    (dolist (pair (nth 2 info) names)
      (when (and (eq (car pair) :var) (stringp (cdr pair)) (string-match regexp (cdr pair)))
        (let ((name (match-string 1 (cdr pair)))
              (group (match-string 2 (cdr pair))))
          (when (or (not test) (funcall test group))
            (push name names)))))))

(defun orgrest--text-p (name)
  "Return non-nil if NAME is that of a text in the document, such as a paragraph.
Org ends the value of such a text with a line break."
  (save-excursion
    (save-restriction
      (widen)
      (goto-char (point-min))
      (and (re-search-forward (org-babel-named-data-regexp-for-name name) nil t)
           (not (memq (org-element-type (org-element-at-point))
                      '(babel-call plain-list src-block table)))))))

;; A source block in a result is text from a server: it must not be run when the whole document is
;; evaluated or exported.

(defun orgrest--result-p (element language)
  "Return non-nil if ELEMENT, in LANGUAGE, is a result or part of one.
Responses are never inserted as blocks in `orgrest-languages', so such a
block below a result is the user's own."
  (let ((appended (not (member language orgrest-languages)))
        found)
    (while (and element (not found))
      (setq found (or (org-element-property :results element)
                      (and appended
                           (orgrest--appended-p (org-element-property :begin element))))
            element (org-element-property :parent element)))
    found))

(defun orgrest--appended-p (begin)
  "Return non-nil if only blocks and drawers follow a results keyword until BEGIN.
This searches the text, because Org would take long to parse many blocks."
  (goto-char begin)
  (when (and (= (forward-line -1) 0)
             (looking-at-p "[ \t]*\\(?:#\\+end_\\|:end:\\)")
             (re-search-backward "^[ \t]*#\\+results\\>" nil t)
             (= (forward-line) 0))
    (while (cond ((>= (point) begin) nil)
                 ((looking-at "[ \t]*\\(?:#\\+begin_\\(\\S-+\\)\\|:[-_[:alnum:]]+:[ \t]*$\\)")
                  (let ((end (if (match-beginning 1)
                                 (concat "#\\+end_" (regexp-quote (match-string 1)))
                               ":end:")))
                    (and (re-search-forward (concat "^[ \t]*" end "[ \t]*$") begin t)
                         (= (forward-line) 0))))
                 ((looking-at-p "[ \t]*#\\+\\S-+:") (= (forward-line) 0))))
    (= (point) begin)))

(defun orgrest--may-evaluate-p (info)
  "Return non-nil unless the block of INFO is a result; then show a message."
  (let* ((case-fold-search t)
         (result (and (derived-mode-p 'org-mode)
                      (save-excursion
                        (save-restriction
                          (widen)
                          (goto-char (or (nth 5 info) (point)))
                          (orgrest--result-p (org-element-at-point) (car info)))))))
    (when result
      (message "A %s block below #+RESULTS is a response, and is not evaluated" (car info)))
    (not result)))

;; This also works if Org is loaded later.
(advice-add 'org-babel-check-evaluate :before-while #'orgrest--may-evaluate-p)

(defun orgrest--set-up-org ()
  "Set up completing and sending requests in this Org buffer."
  (add-hook 'completion-at-point-functions #'orgrest-completion-at-point nil t)
  (add-hook 'org-ctrl-c-ctrl-c-hook #'orgrest--send-org nil t)
  (dolist (language orgrest-languages)
    (unless (or (assoc language org-src-lang-modes)
                (fboundp (intern (concat language "-mode"))))
      (push (cons language 'orgrest) org-src-lang-modes))))

(add-hook 'org-mode-hook #'orgrest--set-up-org)

;;; Request files

(defconst orgrest--request
  (concat "^[ \t]*\\(?:\\(?1:"
          (regexp-opt '("GET" "POST" "PUT" "PATCH" "DELETE" "HEAD" "OPTIONS" "TRACE" "CONNECT"))
          "\\)[ \t]+\\(?2:[^ \t\n]+\\)"
          "\\|\\(?1:[A-Z][A-Z-]*\\)[ \t]+\\(?2:\\(?:[a-z]+://\\|/\\|:[^ \t\n:=]\\|{{\\)[^ \t\n]*\\)"
          "\\)")
  "Matches a request line; group 1 is the method, group 2 the URL.")

(defconst orgrest--header "^[ \t]*\\([^][ \t\n\"(),/:;<=>?@\\{}]+\\):\\(?:[ \t]\\|$\\)"
  "Matches a header line; group 1 is the name.")

(defun orgrest--match-header (limit)
  "Find a header line before LIMIT, between a request line and an empty line."
  (let (found)
    (while (and (not found) (re-search-forward orgrest--header limit t))
      (setq found (save-match-data
                    (save-excursion
                      (beginning-of-line)
                      (and (re-search-backward (concat "^[ \t]*$\\|" orgrest--request) nil t)
                           (match-beginning 1))))))
    found))

(defconst orgrest--font-lock
  `((,orgrest--request (1 font-lock-keyword-face) (2 font-lock-function-name-face))
    ("^[ \t]*:\\([^] \t\n:={}[]+\\)[ \t]*:?=" 1 font-lock-variable-name-face)
    (orgrest--match-header 1 font-lock-type-face)
    ("^[ \t]*[?&]\\([^=\n]+\\)=" 1 font-lock-type-face)
    ("^[ \t]*->[ \t]*[^ \t\n]+" 0 font-lock-builtin-face)
    ("{{[ \t]*[^] \t\n{}[]+[ \t]*}}" 0 font-lock-constant-face t)
    ("\\(?:[/ \t=\"]\\|^\\):\\([[:alpha:]_][-_[:alnum:]]*\\)" 1 font-lock-constant-face keep)
    ("^[ \t]*#.*" 0 font-lock-comment-face t)
    ("^[ \t]*###+[ \t]*\\(.+\\)" 1 font-lock-doc-face t))
  "The rules for highlighting request files.")

(defvar orgrest-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'orgrest-send)
    (define-key map (kbd "C-c C-k") #'orgrest-cancel)
    (define-key map (kbd "C-c C-u") #'orgrest-copy-as-curl)
    (define-key map (kbd "C-c C-e") #'orgrest-choose-environment)
    (define-key map (kbd "C-c C-n") #'orgrest-next-request)
    (define-key map (kbd "C-c C-p") #'orgrest-previous-request)
    map)
  "The keys of `orgrest-mode'.")

;;;###autoload
(define-derived-mode orgrest-mode prog-mode "Requests"
  "Major mode for files of HTTP requests."
  (setq-local comment-start "# "
              comment-start-skip "^[ \t]*#+[ \t]*"
              comment-end ""
              indent-line-function #'ignore
              outline-regexp "###+"
              imenu-generic-expression `(("Names" "^[ \t]*###+[ \t]*\\(.+\\)$" 1)
                                         (nil ,(concat orgrest--request ".*") 0))
              font-lock-defaults '(orgrest--font-lock t) ; the case of methods matters everywhere
              imenu-case-fold-search nil)
  (when buffer-file-name                ; in temporary buffers, Org indents by pressing TAB
    (setq-local tab-always-indent 'complete))
  (add-hook 'completion-at-point-functions #'orgrest-completion-at-point nil t))

(put 'orgrest-mode 'eglot-language-id "http")

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:http\\|rest\\)\\'" . orgrest-mode))

(defun orgrest-next-request (&optional count)
  "Go to the next request, or to the COUNTth request below."
  (interactive "p")
  (let ((start (point))
        (case-fold-search nil))
    (end-of-line)
    (unless (re-search-forward orgrest--request nil t (or count 1))
      (goto-char start)
      (user-error "No request below"))
    (beginning-of-line)))

(defun orgrest-previous-request (&optional count)
  "Go to the start of this request or of the request above, COUNT times."
  (interactive "p")
  (let ((case-fold-search nil))
    (unless (re-search-backward orgrest--request nil t (or count 1))
      (user-error "No request above")))
  (beginning-of-line))

(defun orgrest-send ()
  "Send the request at point and show the response in another window.
The text in the buffer is sent even if it is not saved.  You can continue
to edit it meanwhile; \\[orgrest-cancel] cancels the request.

In the edit buffer of an Org source block, save the block into the
document and evaluate it there, so that its variables are available."
  (interactive)
  (cond
   ((bound-and-true-p org-src-mode)
    (org-edit-src-save)
    (org-src-do-at-code-block (orgrest--evaluate)))
   ((derived-mode-p 'org-mode)
    (user-error (substitute-command-keys "In Org, \\[org-ctrl-c-ctrl-c] evaluates a block")))
   (t (orgrest--send))))

(defun orgrest--send ()
  "Send the request at point."
  (when orgrest--pending
    (user-error (substitute-command-keys
                 "A request is under way: \\[orgrest-cancel] cancels it")))
  (let ((source (point-marker)))
    (orgrest--later t :workspace/executeCommand (orgrest--arguments "orgrest.send")
                    (lambda (result failure)
                      (let ((outcome (format "orgrest: %s"
                                             (or failure (plist-get result :message)))))
                        (if (plist-get result :text)
                            (orgrest--show result source outcome)
                          (orgrest--show-failure outcome))
                        (message "%s" outcome))))))

(defconst orgrest--response "*orgrest response*"
  "The name of the buffer that shows the last response.")

(defun orgrest--show-failure (outcome)
  "Show OUTCOME, that of a failed request, above the previous response."
  (when (get-buffer orgrest--response)
    (with-current-buffer orgrest--response
      (orgrest--head (concat outcome " (below: the response before)")))))

(defun orgrest--head (text)
  "Show TEXT in the header line of the buffer."
  (setq header-line-format
        (replace-regexp-in-string "%" "%%" (replace-regexp-in-string "\n" " " text)))
  (force-mode-line-update))

(defconst orgrest--modes
  '(("json" . js-mode) ("jsonc" . js-mode) ("javascript" . js-mode) ("html" . html-mode)
    ("xml" . nxml-mode) ("css" . css-mode) ("yaml" . yaml-mode) ("markdown" . markdown-mode))
  "The major modes for the languages of responses.")

(defconst orgrest--highlighted 1000000
  "The greatest length in characters of a response that is highlighted.")

(define-minor-mode orgrest-response-mode
  "Minor mode of buffers that show a response.
\\`q' hides the buffer, \\`g' sends the request again, and \\`s' saves a body
that is not text."
  :keymap (let ((map (make-sparse-keymap)))
            (define-key map "q" #'quit-window)
            (define-key map "g" #'orgrest-resend)
            (define-key map "s" #'orgrest-save-body)
            map)
  (setq buffer-read-only orgrest-response-mode))

(defvar-local orgrest--data nil
  "The bytes of the body that this buffer shows, if it is not text.")

(defvar-local orgrest--source nil
  "The marker of the request whose response this buffer shows.")

(defun orgrest-resend ()
  "Send the request of this response again, with the current text in its buffer."
  (interactive)
  (let ((source orgrest--source))
    (unless (and source (marker-buffer source))
      (user-error "The buffer with the request was killed"))
    (with-current-buffer (marker-buffer source)
      (save-excursion
        (save-restriction
          (widen)
          (goto-char source)
          (orgrest--send))))))

(defun orgrest-save-body (file)
  "Write the body of the response, which is not text, to FILE."
  (interactive
   (list (if orgrest--data
             (read-file-name "Save the body to: ")
           (user-error "The body is text; write the buffer to a file instead"))))
  (let ((coding-system-for-write 'no-conversion))
    (write-region orgrest--data nil file nil nil nil t)))

(defun orgrest--insert-data (data)
  "Insert DATA, the bytes of a body, as an image, or else a line about them.
This replaces the first line, which says where the server stores the bytes."
  (let ((type (save-excursion
                (goto-char (point-max))
                (if (re-search-backward "Content-Type: \\([^; \n]+\\)" nil t)
                    (match-string 1)
                  "binary data")))
        (image (and (display-images-p) (ignore-errors (create-image data nil t)))))
    (delete-region (point-min) (line-beginning-position 3))
    (if image
        (insert-image image)
      (insert (format "[%d bytes of %s: s saves them]" (length data) type)))
    (insert "\n")))

(defun orgrest--bytes (uri)
  "Return the bytes in the file with this URI."
  (with-temp-buffer
    (set-buffer-multibyte nil)
    (insert-file-contents-literally
     (decode-coding-string (url-unhex-string (substring uri (length "file://"))) 'utf-8))
    (buffer-string)))

(defun orgrest--show (result source outcome)
  "Show the response in RESULT to the request at SOURCE, with its OUTCOME."
  (let ((mode (cdr (assoc (plist-get result :language) orgrest--modes)))
        (text (plist-get result :text))
        (data (and (plist-get result :data) (orgrest--bytes (plist-get result :data)))))
    (with-current-buffer (get-buffer-create orgrest--response)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text)
        (goto-char (point-min))
        (when data
          (orgrest--insert-data data)))
      ;; Hooks with linters, servers or formatters would treat it as a file of the user.
      (delay-mode-hooks
        (funcall (if (and (fboundp mode) (< (length text) orgrest--highlighted))
                     mode
                   #'fundamental-mode)))
      (font-lock-mode)
      (setq orgrest--data data
            orgrest--source source)
      (set-buffer-modified-p nil)
      (goto-char (point-min))
      (orgrest--head outcome)
      (orgrest-response-mode)
      (display-buffer (current-buffer) '(nil (inhibit-same-window . t))))))

(defun orgrest-copy-as-curl ()
  "Put the request at point into the kill ring as a curl command.
It contains the values of variables, including secrets, so that it works."
  (interactive)
  (kill-new (orgrest--wait :workspace/executeCommand (orgrest--arguments "orgrest.copyAsCurl")))
  (message "Copied as a curl command"))

(defun orgrest-choose-environment ()
  "Choose the environment for the documents in the folder of this document."
  (interactive)
  (orgrest--command "orgrest.chooseEnvironment"
                    (lambda (result failure)
                      (let ((chosen (mapconcat #'identity (plist-get result :chosen) ", ")))
                        (message "orgrest: %s"
                                 (cond (failure)
                                       ((equal chosen "") "no environment")
                                       (t (concat "environment " chosen))))))))

;;; Completion

(defconst orgrest--fence
  "^\\*+ \\|^[ \t]*#\\+\\(?:begin_src[ \t]+\\([^ \t\n]*\\)\\|\\(?:begin\\|end\\)_\\S-\\)"
  "Matches the start or end of a block; group 1 is a source block's language.")

(defconst orgrest--keyword
  (concat "[ \t]*\\(?:#\\+begin_src[ \t]+\\(?:"
          (mapconcat (lambda (language) (concat language "[ \t]")) orgrest-languages "\\|")
          "\\|[a-z]*$\\)\\|#\\+\\(?:header\\|property\\|call\\):\\|:header-args\\)")
  "Matches lines that contain languages or header arguments.")

(defun orgrest--may-complete-p ()
  "Return non-nil if there may be completions at point, with a cheap check."
  (or (derived-mode-p 'orgrest-mode)
      (let ((case-fold-search t)
            (line (line-beginning-position)))
        (save-excursion
          (if (save-excursion (goto-char line) (looking-at-p orgrest--keyword))
              t
            (and (re-search-backward orgrest--fence nil t)
                 (< (point) line)
                 (member (match-string 1) orgrest-languages)))))))

(defconst orgrest--kinds
  [value text method function constructor field variable class interface module property unit
         value enum keyword snippet color file reference folder enum-member constant struct event
         operator type-parameter]
  "The kinds of completions, indexed by their numbers in the protocol.")

(defun orgrest--items ()
  "Return the completions at point, each with its range, :start to :end."
  (let* ((server (orgrest--synchronize))
         (answer (jsonrpc-request server :textDocument/completion
                                  `( :textDocument (:uri ,(orgrest--uri))
                                     :position ,(orgrest--place))
                                  ;; While the user is typing, give up at the next key.
                                  :cancel-on-input non-essential :timeout 60)))
    (mapcar (lambda (item)
              (let* ((edit (plist-get item :textEdit))
                     (range (plist-get edit :range)))
                (list :label (plist-get item :label)
                      :kind (aref orgrest--kinds (or (plist-get item :kind) 0))
                      :description (plist-get (plist-get item :labelDetails) :description)
                      :documentation (or (plist-get item :documentation) "")
                      :start (orgrest--point (plist-get range :start))
                      :end (orgrest--point (plist-get range :end))
                      :insert (plist-get edit :newText))))
            (plist-get answer :items))))

(defun orgrest--word-end (item labels)
  "Return the end of the word that ITEM completes, which may be after point.
If none of LABELS starts with the whole word, return point."
  (save-excursion
    (let ((point (point)))
      (goto-char (min (plist-get item :end) (point-max)))
      (skip-chars-backward "^-_[:alnum:]" point)
      (let ((word (buffer-substring-no-properties (plist-get item :start) (point))))
        (if (seq-some (lambda (label) (string-prefix-p word label t)) labels)
            (point)
          point)))))

(defun orgrest--finish (item rest)
  "Replace the label of ITEM before point with the text of the completion.
This text may be longer than the label, and it also replaces REST
characters after point."
  (let* ((label (plist-get item :label))
         (start (- (point) (length label))))
    (when (and (<= (point-min) start)
               (equal label (buffer-substring-no-properties start (point))))
      (delete-region start (min (+ (point) rest) (point-max)))
      (insert (plist-get item :insert)))))

(defun orgrest--candidates ()
  "Return the completions at point for `completion-at-point-functions'."
  (let* ((all (ignore-errors (orgrest--items)))
         (first (car all))
         (start (plist-get first :start))
         (items (seq-filter (lambda (item) (equal (plist-get item :start) start)) all)))
    (when (and first (<= start (point)))
      (let* ((labels (mapcar (lambda (item) (plist-get item :label)) items))
             (end (orgrest--word-end first labels))
             (rest (- (plist-get first :end) end))
             (find (lambda (label)
                     (seq-find (lambda (item) (equal (plist-get item :label) label)) items)))
             (kind (lambda (label) (plist-get (funcall find label) :kind)))
             (said (lambda (label) (plist-get (funcall find label) :documentation))))
        (list start end
              (completion-table-case-fold
               (lambda (string predicate action)
                 (if (eq action 'metadata)
                     '(metadata (display-sort-function . identity) (category . orgrest))
                   (complete-with-action action labels string predicate))))
              :exclusive 'no
              :annotation-function
              (lambda (label) (format "  %s" (plist-get (funcall find label) :description)))
              :company-kind kind
              :company-docsig (lambda (label) (car (split-string (funcall said label) "\n")))
              :company-doc-buffer
              (lambda (label)
                (with-current-buffer (get-buffer-create " *orgrest documentation*")
                  (erase-buffer)
                  (insert (funcall said label))
                  (current-buffer)))
              :exit-function
              (lambda (label status)
                (when (memq status '(finished sole))
                  (let ((item (funcall find label)))
                    (when item
                      (orgrest--finish item (max 0 rest)))))))))))

;;;###autoload
(defun orgrest-completion-at-point ()
  "Return completions for methods, URLs, headers, values and variables.
For `completion-at-point-functions'."
  (let ((found (save-restriction
                 (widen)
                 (and (orgrest--may-complete-p) (orgrest--candidates)))))
    (and found
         (<= (point-min) (car found))
         (<= (nth 1 found) (point-max))
         found)))

;;; Language servers

(defun orgrest--contact (&optional _interactive)
  "Return the command of the language server, for eglot."
  (orgrest--program))

(defun orgrest--register (&rest _)
  "Register the server of both modes in eglot and lsp-mode, if these are loaded."
  (when (and (boundp 'eglot-server-programs)
             (not (rassq #'orgrest--contact eglot-server-programs)))
    (push (cons '(orgrest-mode org-mode) #'orgrest--contact) eglot-server-programs))
  (when (and (featurep 'lsp-mode)
             (not (assq 'orgrest-mode lsp-language-id-configuration)))
    (push '(orgrest-mode . "http") lsp-language-id-configuration)
    (lsp-register-client
     (make-lsp-client :new-connection (lsp-stdio-connection #'orgrest--program)
                      :major-modes '(orgrest-mode org-mode)
                      :server-id 'orgrest))))

(orgrest--register)
(add-hook 'after-load-functions #'orgrest--register)

(provide 'orgrest)
;;; orgrest.el ends here
