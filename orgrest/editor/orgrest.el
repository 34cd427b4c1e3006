;;; orgrest.el --- HTTP requests in Org and request files  -*- lexical-binding: t; -*-

;; Author: The authors of orgrest
;; Version: 0.1.0
;; Package-Requires: ((emacs "27.1"))
;; Keywords: comm, tools, outlines
;; SPDX-License-Identifier: MIT

;;; Commentary:

;; Emacs's side of orgrest, which does the work: it reads the requests, completes and sends them and
;; lays the answers out.  Its command `emacs' prints the line for the init file.
;;
;; Org: C-c C-c in a source block in restclient, http or rest evaluates it as any other; variables,
;; named blocks, calls and :results are Org's.  The functions that Babel calls for these languages
;; are defined here and so take the place of ob-restclient's, unless that is loaded later.
;;
;; Request files (.http, .rest): `orgrest-mode' highlights, finds and sends requests.
;;
;; Completion needs no language server.  Where eglot or lsp-mode is used, "orgrest lsp" is known
;; to it as the server of both modes.

;;; Code:

;; Nothing is required above what Emacs holds anyway: this file is loaded when Emacs starts.
(declare-function json-encode "json" (object))
(declare-function json-read-from-string "json" (string))
(declare-function lsp-register-client "ext:lsp-mode" (client))
(declare-function lsp-stdio-connection "ext:lsp-mode" (command &optional test-command))
(declare-function make-lsp-client "ext:lsp-mode" (&rest arguments))
(declare-function org-babel--get-vars "ob-core" (params))
(declare-function org-babel-get-src-block-info "ob-core" (&optional no-eval datum))
(declare-function org-babel-lob-get-info "ob-lob" (&optional datum &rest _))
(declare-function org-element-at-point "org-element" (&rest _))
(declare-function org-element-property "org-element" (property element &rest _))
(declare-function org-src-do-key-sequence-at-code-block "org-src" (&optional key))
(defvar eglot-server-programs)
(defvar json-array-type)
(defvar json-false)
(defvar json-key-type)
(defvar json-object-type)
(defvar lsp-language-id-configuration)
(defvar org-src-lang-modes)

(defgroup orgrest nil
  "HTTP requests in Org and request files."
  :group 'comm
  :prefix "orgrest-")

(defcustom orgrest-command '("orgrest")
  "The program orgrest, and the arguments that come before all others."
  :type '(repeat string)
  :risky t)

(defconst orgrest-languages '("restclient" "http" "rest")
  "The languages of Org source blocks that hold requests.")

;;; Running orgrest

(defun orgrest--environment ()
  "Give the environment for orgrest, which is to speak UTF-8."
  (cons "PYTHONUTF8=1" process-environment))

(defun orgrest--text ()
  "Give the whole text of the buffer."
  (save-restriction
    (widen)
    (buffer-substring-no-properties (point-min) (point-max))))

(defun orgrest--buffer-file ()
  "Give the path of the buffer's file, also in an indirect buffer, or nil."
  (buffer-file-name (buffer-base-buffer)))

(defun orgrest--directory ()
  "Give the folder of the buffer's file, whatever folder Org has gone to.
Where there is none, or it is on another machine, give one for temporary files."
  (let* ((file (orgrest--buffer-file))
         (folder (if file (file-name-directory file) default-directory)))
    (if (and (not (file-remote-p folder)) (file-directory-p folder))
        (expand-file-name folder)
      temporary-file-directory)))

(defun orgrest--file ()
  "Give the name of the buffer's file without its folder.
Where there is none, make one of the buffer's name."
  (let ((file (orgrest--buffer-file)))
    (if file
        (file-name-nondirectory file)
      ;; Images are named after it; other buffers have theirs in the same folder.
      (concat "buffer"
              (replace-regexp-in-string "\\`[^[:alnum:]]*\\|[^[:alnum:]]+" "-" (buffer-name))
              (if (derived-mode-p 'org-mode) ".org" ".http")))))

(defun orgrest--call (input &rest arguments)
  "Run orgrest with ARGUMENTS on the text INPUT and wait for it.
Give (STATUS OUTPUT ERRORS), STATUS a number or the name of a signal."
  (let ((command (orgrest--command arguments))
        (errors (make-temp-file "orgrest"))
        (default-directory (orgrest--directory))
        (process-environment (orgrest--environment))
        (coding-system-for-read 'utf-8-unix)
        (coding-system-for-write 'utf-8-unix))
    (unwind-protect
        (with-temp-buffer
          (insert input)
          (let ((status (apply #'call-process-region (point-min) (point-max) (car command)
                               t (list t errors) nil (cdr command))))
            (list status
                  (buffer-string)
                  (with-temp-buffer
                    (insert-file-contents errors)
                    (buffer-string)))))
      (delete-file errors))))

(defun orgrest--command (arguments)
  "Give the command for orgrest with ARGUMENTS."
  (unless (executable-find (car orgrest-command))
    (user-error "There is no program %s; see `orgrest-command'" (car orgrest-command)))
  (append orgrest-command arguments))

(defun orgrest--trim (text)
  "Give TEXT without blanks and line ends around it."
  (replace-regexp-in-string "\\`[ \t\n]+\\|[ \t\n]+\\'" "" text))

(defun orgrest--plain (text)
  "Give TEXT, what orgrest complained about, without the name of the program."
  (let ((told (replace-regexp-in-string "^orgrest: " "" (orgrest--trim text))))
    (if (equal told "") "orgrest ended without saying why" told)))

(defun orgrest--read-json (text)
  "Read TEXT as JSON: objects as alists, arrays as lists, null and false as nil."
  (if (fboundp 'json-parse-string)
      (json-parse-string text :object-type 'alist :array-type 'list
                         :null-object nil :false-object nil)
    (require 'json)
    (let ((json-object-type 'alist)
          (json-array-type 'list)
          (json-key-type 'symbol)
          (json-false nil))
      (json-read-from-string text))))

(defun orgrest--object (alist)
  "Give ALIST as what is a JSON object even if it is empty."
  (or alist (make-hash-table)))

;;; Org Babel

(defvar org-babel-default-header-args:restclient '((:results . "raw"))
  "Default header arguments of restclient blocks, those of ob-restclient.")
(defvar org-babel-default-header-args:http '((:results . "raw"))
  "Default header arguments of http blocks.")
(defvar org-babel-default-header-args:rest '((:results . "raw"))
  "Default header arguments of rest blocks.")

(defun org-babel-execute:restclient (body params)
  "Send the request in BODY with orgrest; PARAMS are the header arguments."
  (orgrest--babel body params))

(defun org-babel-execute:http (body params)
  "Send the request in BODY with orgrest; PARAMS are the header arguments."
  (orgrest--babel body params))

(defun org-babel-execute:rest (body params)
  "Send the request in BODY with orgrest; PARAMS are the header arguments."
  (orgrest--babel body params))

(defun org-babel-variable-assignments:restclient (params)
  "Give the variables of PARAMS as they stand above a request."
  (mapcar (lambda (pair) (format ":%s = %s" (car pair) (cdr pair))) (org-babel--get-vars params)))
(defalias 'org-babel-variable-assignments:http #'org-babel-variable-assignments:restclient)
(defalias 'org-babel-variable-assignments:rest #'org-babel-variable-assignments:restclient)

(defun orgrest--babel (body params)
  "Let orgrest evaluate the block at point.
It is BODY with the header arguments PARAMS."
  (let* ((written (orgrest--written-variables))
         (results (cdr (assq :result-params params)))
         values literal arguments)
    (dolist (pair params)
      (pcase (car pair)
        (:var (let ((variable (cons (cadr pair) (orgrest--value (cddr pair)))))
                (if (member (symbol-name (cadr pair)) written)
                    (push variable values)
                  (push variable literal))))
        ((or :results :result-params :result-type :colname-names :rowname-names))
        (_ (push (cons (substring (symbol-name (car pair)) 1) (orgrest--argument (cdr pair)))
                 arguments))))
    (let ((answer (orgrest--evaluate
                   `((document . ,(orgrest--text))
                     (file . ,(orgrest--file))
                     (directory . ,(orgrest--directory))
                     (line . ,(line-number-at-pos nil t))
                     (body . ,body)
                     (arguments . ,(orgrest--object (nreverse arguments)))
                     (results . ,(vconcat results))
                     (values . ,(orgrest--object (nreverse values)))
                     (literal . ,(orgrest--object (nreverse literal)))))))
      (pcase (alist-get 'old answer)    ; bare text, whose end Org would not find
        (`(,start ,end) (save-restriction
                          (widen)
                          (delete-region (1+ start) (1+ end)))))
      (dolist (note (alist-get 'notes answer))
        (message "orgrest: %s" note))
      (let ((result (alist-get 'result answer)))
        (if (and (consp result) (or (member "table" results) (member "vector" results)))
            (mapcar (lambda (row) (or row 'hline)) result)
          result)))))

(defvar orgrest--helper nil
  "The process for blocks; starting one takes longer than most requests.")
(defvar orgrest--helper-timer nil
  "The timer that ends the helper when it is not used.")
(defconst orgrest--helper-idle 600
  "How many seconds the helper waits for the next block.")

(defun orgrest--end-helper ()
  "End the process for blocks, if there is one."
  (when (timerp orgrest--helper-timer)
    (cancel-timer orgrest--helper-timer))
  (when (processp orgrest--helper)
    (dolist (buffer (list (process-buffer orgrest--helper)
                          (process-get orgrest--helper 'orgrest-errors)))
      (let (kill-buffer-query-functions)
        (kill-buffer buffer)))
    (delete-process orgrest--helper))
  (setq orgrest--helper nil
        orgrest--helper-timer nil))

(defun orgrest--helper ()
  "Give the process for blocks, by this command and environment."
  (let* ((process-environment (orgrest--environment))
         (command (orgrest--command '("babel" "--serve")))
         (made (cons command (copy-sequence process-environment)))) ; `setenv' changes it
    (unless (and (process-live-p orgrest--helper)
                 (equal (process-get orgrest--helper 'orgrest-made) made))
      (orgrest--end-helper)
      (let* ((default-directory (orgrest--directory))
             (errors (generate-new-buffer " *orgrest errors*")))
        (setq orgrest--helper
              (make-process :name "orgrest-babel" :command command :noquery t
                            :buffer (generate-new-buffer " *orgrest babel*")
                            :stderr (make-pipe-process :name "orgrest-errors" :buffer errors
                                                       :noquery t :sentinel #'ignore
                                                       :coding 'utf-8-unix)
                            :connection-type 'pipe :coding 'utf-8-unix :sentinel #'ignore))
        (process-put orgrest--helper 'orgrest-made made)
        (process-put orgrest--helper 'orgrest-errors errors)))
    (when (timerp orgrest--helper-timer)
      (cancel-timer orgrest--helper-timer))
    orgrest--helper))

(defun orgrest--evaluate (call)
  "Give orgrest's answer to CALL, which describes a block."
  (require 'json)
  (let* ((helper (orgrest--helper))
         (answers (process-buffer helper))
         (errors (process-get helper 'orgrest-errors))
         answer)
    (unwind-protect
        (progn
          (with-current-buffer answers
            (erase-buffer))
          (condition-case nil
              (process-send-string helper (concat (json-encode call) "\n"))
            (error nil))                 ; it has ended: what it said follows
          (with-current-buffer answers
            (while (and (not (eq (char-before (point-max)) ?\n))
                        (or (accept-process-output helper 1 nil t)
                            (process-live-p helper))))
            (when (eq (char-before (point-max)) ?\n)
              (setq answer (orgrest--read-json (buffer-string)))))
          (cond ((alist-get 'error answer) (user-error "%s" (alist-get 'error answer)))
                (answer)
                (t (accept-process-output (get-buffer-process errors) 1)
                   (user-error "%s" (orgrest--plain (with-current-buffer errors
                                                      (buffer-string)))))))
      (if answer
          (setq orgrest--helper-timer
                (run-at-time orgrest--helper-idle nil #'orgrest--end-helper))
        (orgrest--end-helper)))))       ; quit, with a request under way

(defun orgrest--argument (value)
  "Give VALUE, that of a header argument, as text; nil where there is none."
  (if (or (null value) (stringp value)) value (format "%s" value)))

(defun orgrest--value (value)
  "Give VALUE, that of a variable, as what JSON can hold; tables lose their rules."
  (cond ((or (stringp value) (numberp value)) value)
        ((and (listp value) (listp (cdr value)))
         (vconcat (mapcar #'orgrest--value (remq 'hline value))))
        (t (format "%s" value))))

(defun orgrest--written-variables ()
  "Give the names of the variables whose values stand quoted in the document.
These may hold variables; what another block gave is never looked through."
  (let ((info (or (org-babel-get-src-block-info 'light) (org-babel-lob-get-info)))
        names)
    (dolist (pair (nth 2 info) names)
      (when (and (eq (car pair) :var)
                 (stringp (cdr pair))
                 (string-match "\\`[ \t]*\\([^ \t=]+\\)[ \t]*=[ \t]*\"" (cdr pair)))
        (push (match-string 1 (cdr pair)) names)))))

;; A source block in a result is a server's text: evaluating or exporting the whole document must not
;; run it.

(defun orgrest--result-p (element)
  "Return non-nil if ELEMENT is a result, inside one, or appended to one."
  (let (found)
    (while (and element (not found))
      (setq found (or (org-element-property :results element)
                      (orgrest--appended-p (org-element-property :begin element)))
            element (org-element-property :parent element)))
    found))

(defun orgrest--appended-p (begin)
  "Return non-nil if only blocks and drawers follow a results keyword until BEGIN.
This searches the text, because Org takes long to parse many blocks."
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
  "Return non-nil if the block of INFO is not a result; else show a message."
  (let* ((case-fold-search t)
         (result (and (derived-mode-p 'org-mode)
                      (save-excursion
                        (save-restriction
                          (widen)
                          (goto-char (or (nth 5 info) (point)))
                          (orgrest--result-p (org-element-at-point)))))))
    (when result
      (message "A %s block below #+RESULTS is an answer, and is not evaluated" (car info)))
    (not result)))

;; Holds also where Org is loaded later.
(advice-add 'org-babel-check-evaluate :before-while #'orgrest--may-evaluate-p)

(with-eval-after-load 'org-src
  (dolist (language orgrest-languages)
    (unless (or (assoc language org-src-lang-modes)
                (fboundp (intern (concat language "-mode"))))
      (push (cons language 'orgrest) org-src-lang-modes))))

;;; Request files

(defconst orgrest--request
  (concat "^[ \t]*\\(?:\\(?1:"
          (regexp-opt '("GET" "POST" "PUT" "PATCH" "DELETE" "HEAD" "OPTIONS" "TRACE" "CONNECT"))
          "\\)[ \t]+\\(?2:[^ \t\n]+\\)"
          "\\|\\(?1:[A-Z][A-Z-]*\\)[ \t]+\\(?2:\\(?:[a-z]+://\\|/\\|:[^ \t\n:=]\\|{{\\)[^ \t\n]*\\)"
          "\\)")
  "Matches a request line: 1 is the method, 2 the URL.")

(defconst orgrest--header "^[ \t]*\\([^][ \t\n\"(),/:;<=>?@\\{}]+\\):\\(?:[ \t]\\|$\\)"
  "Matches a header line: 1 is the name.")

(defun orgrest--match-header (limit)
  "Find a header line before LIMIT: one between a request line and an empty one."
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
  "How request files are highlighted.")

(defvar orgrest-mode-map
  (let ((map (make-sparse-keymap)))
    (define-key map (kbd "C-c C-c") #'orgrest-send)
    (define-key map (kbd "C-c C-k") #'orgrest-cancel)
    (define-key map (kbd "C-c C-u") #'orgrest-copy-as-curl)
    (define-key map (kbd "C-c C-n") #'orgrest-next-request)
    (define-key map (kbd "C-c C-p") #'orgrest-previous-request)
    map)
  "Keys of `orgrest-mode'.")

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
              font-lock-defaults '(orgrest--font-lock t) ; with case, as all that finds requests
              imenu-case-fold-search nil)
  (when buffer-file-name                ; Org presses TAB in buffers of its own, to indent
    (setq-local tab-always-indent 'complete))
  (add-hook 'completion-at-point-functions #'orgrest-completion-at-point nil t))

(put 'orgrest-mode 'eglot-language-id "http")

;;;###autoload
(add-to-list 'auto-mode-alist '("\\.\\(?:http\\|rest\\)\\'" . orgrest-mode))

(defun orgrest-next-request (&optional count)
  "Go to the next request, or to the COUNTth."
  (interactive "p")
  (let ((start (point))
        (case-fold-search nil))
    (end-of-line)
    (unless (re-search-forward orgrest--request nil t (or count 1))
      (goto-char start)
      (user-error "No request below"))
    (beginning-of-line)))

(defun orgrest-previous-request (&optional count)
  "Go to the beginning of this request or to the one above it, COUNT times."
  (interactive "p")
  (let ((case-fold-search nil))
    (unless (re-search-backward orgrest--request nil t (or count 1))
      (user-error "No request above")))
  (beginning-of-line))

(defvar-local orgrest--process nil
  "The process that sends a request of this buffer.")

(defun orgrest-send ()
  "Send the request at point and show the response in another window.
The text of the buffer counts, saved or not.  Editing can go on
meanwhile; \\[orgrest-cancel] cancels.

In the buffer where a block of an Org document is edited, save that
into the document and evaluate it there, where its variables are."
  (interactive)
  (when (derived-mode-p 'org-mode)
    (user-error (substitute-command-keys "In Org, \\[org-ctrl-c-ctrl-c] evaluates a block")))
  (if (bound-and-true-p org-src-mode)
      (org-src-do-key-sequence-at-code-block "e")
    (orgrest--send)))

(defun orgrest--send ()
  "Send the request at point."
  (when (process-live-p orgrest--process)
    (user-error (substitute-command-keys
                 "A request is under way: \\[orgrest-cancel] cancels it")))
  (let* ((command (orgrest--command
                   (list "-" "--stdin-name" (orgrest--file) "--json" "--quiet"
                         "--line" (number-to-string (line-number-at-pos nil t)))))
         (text (orgrest--text))
         (default-directory (orgrest--directory))
         (process-environment (orgrest--environment))
         (process (make-process :name "orgrest" :command command :noquery t
                                :buffer (generate-new-buffer " *orgrest*")
                                :connection-type 'pipe :coding 'utf-8-unix
                                :sentinel #'orgrest--sent)))
    (setq orgrest--process process)
    (condition-case nil
        (progn (process-send-string process text)
               (process-send-eof process))
      (error nil))                      ; it has ended: the sentinel tells
    (message "orgrest: sent...")))

(defun orgrest-cancel ()
  "Cancel the request of this buffer that is under way."
  (interactive)
  (unless (process-live-p orgrest--process)
    (user-error "No request is under way"))
  (process-put orgrest--process 'orgrest-cancelled t)
  (kill-process orgrest--process))

(defun orgrest--sent (process _event)
  "Show what PROCESS gave, once it has ended."
  (unless (process-live-p process)
    (let ((buffer (process-buffer process))
          answers complaints)
      (when (buffer-live-p buffer)
        (with-current-buffer buffer
          (dolist (line (split-string (buffer-string) "\n" t))
            (let ((answer (and (string-prefix-p "{" line)
                               (ignore-errors (orgrest--read-json line)))))
              (if answer
                  (push answer answers)
                (push line complaints)))))
        (kill-buffer buffer))
      (let* ((answer (car answers))
             (text (alist-get 'text answer))
             (told (mapconcat #'identity (nreverse complaints) "\n"))
             (outcome (cond ((process-get process 'orgrest-cancelled) "orgrest: cancelled")
                            ((not (equal told "")) (orgrest--plain told))
                            (text (concat "orgrest: " (orgrest--summary answer)))
                            (t "orgrest ended without saying why"))))
        (if text
            (orgrest--show answer)
          (orgrest--show-failure outcome))
        (message "%s" outcome)))))

(defconst orgrest--response "*orgrest response*"
  "The name of the buffer that shows the last response.")

(defun orgrest--show-failure (outcome)
  "Show above the last response the OUTCOME of the request sent after it."
  (when (get-buffer orgrest--response)
    (with-current-buffer orgrest--response
      (orgrest--head (concat outcome " (below: the response before)")))))

(defun orgrest--head (text)
  "Show TEXT above the buffer."
  (setq header-line-format
        (replace-regexp-in-string "%" "%%" (replace-regexp-in-string "\n" " " text)))
  (force-mode-line-update))

(defun orgrest--summary (answer)
  "Say in a line what ANSWER is."
  (format "%s %s %s, %.3f s"
          (alist-get 'method answer) (alist-get 'status answer)
          (alist-get 'reason answer) (alist-get 'duration answer)))

(defconst orgrest--modes
  '(("js" . js-mode) ("html" . html-mode) ("nxml" . nxml-mode) ("css" . css-mode)
    ("yaml" . yaml-mode) ("markdown" . markdown-mode))
  "The major modes for the languages of responses.")

(defconst orgrest--highlighted 1000000
  "Longer responses are shown without highlighting, which would take long.")

(define-minor-mode orgrest-response-mode
  "Minor mode of buffers that show a response.
\\`q' hides them, \\`s' saves a body that is no text."
  :keymap (let ((map (make-sparse-keymap)))
            (define-key map "q" #'quit-window)
            (define-key map "s" #'orgrest-save-body)
            map)
  (setq buffer-read-only orgrest-response-mode))

(defvar-local orgrest--data nil
  "The bytes of the body that this buffer shows, if that is no text.")

(defun orgrest-save-body (file)
  "Write the body of the response, which is no text, to FILE."
  (interactive
   (list (if orgrest--data
             (read-file-name "Save the body to: ")
           (user-error "The body is text; write the buffer to a file instead"))))
  (let ((coding-system-for-write 'no-conversion))
    (write-region orgrest--data nil file nil nil nil t)))

(defun orgrest--insert-data (data)
  "Insert DATA, the bytes of a body: as an image, or else a line about them.
Point is before the head of the response."
  (let ((type (save-excursion
                (goto-char (point-max))
                (if (re-search-backward "Content-Type: \\([^; \n]+\\)" nil t)
                    (match-string 1)
                  "binary data")))
        (image (and (display-images-p) (ignore-errors (create-image data nil t)))))
    (if image
        (insert-image image)
      (insert (format "[%d bytes of %s: s saves them]" (length data) type)))
    (insert "\n")))

(defun orgrest--show (answer)
  "Show the response in ANSWER in another window."
  (let ((mode (cdr (assoc (alist-get 'language answer) orgrest--modes)))
        (text (alist-get 'text answer))
        (data (alist-get 'data answer)))
    (with-current-buffer (get-buffer-create orgrest--response)
      (let ((inhibit-read-only t))
        (erase-buffer)
        (insert text)
        (goto-char (point-min))
        (when data
          (setq data (base64-decode-string data))
          (orgrest--insert-data data)))
      ;; Hooks would treat it as a file of the user's: linters, servers, formatters.
      (delay-mode-hooks
        (funcall (if (and (fboundp mode) (< (length text) orgrest--highlighted))
                     mode
                   #'fundamental-mode)))
      (font-lock-mode)
      (setq orgrest--data data)
      (set-buffer-modified-p nil)
      (goto-char (point-min))
      (orgrest--head (orgrest--summary answer))
      (orgrest-response-mode)
      (display-buffer (current-buffer) '(nil (inhibit-same-window . t))))))

(defun orgrest-copy-as-curl ()
  "Put the request at point into the kill ring, as a curl command.
The values of variables are in it, secrets included: it has to work."
  (interactive)
  (pcase-let ((`(,status ,output ,errors)
               (orgrest--call (orgrest--text) "curl" "-" "--stdin-name" (orgrest--file) "--line" (number-to-string (line-number-at-pos nil t)))))
    (unless (eql status 0)
      (user-error "%s" (orgrest--plain errors)))
    (kill-new (orgrest--trim output))
    (message "Copied as a curl command")))

;;; Completion

(defvar-local orgrest--completions nil
  "The last completions of this buffer, as (START PREFIX HASH ITEMS).
ITEMS complete PREFIX, which stands at START; HASH is that of all other text.
They hold as long as that stays and PREFIX grows towards one of ITEMS.")

(defconst orgrest--fence
  "^\\*+ \\|^[ \t]*#\\+\\(?:begin_src[ \t]+\\([^ \t\n]*\\)\\|\\(?:begin\\|end\\)_\\S-\\)"
  "Matches what begins or ends a block; 1 is the language of a source block.")

(defconst orgrest--keyword
  (concat "[ \t]*\\(?:#\\+begin_src[ \t]+\\(?:"
          (mapconcat (lambda (language) (concat language "[ \t]")) orgrest-languages "\\|")
          "\\|[a-z]*$\\)\\|#\\+\\(?:header\\|property\\|call\\):\\|:header-args\\)")
  "Matches lines that hold languages or header arguments.")

(defun orgrest--may-complete-p ()
  "Tell at little cost whether there may be something to complete at point."
  (or (derived-mode-p 'orgrest-mode)
      (let ((case-fold-search t)
            (line (line-beginning-position)))
        (save-excursion
          (if (save-excursion (goto-char line) (looking-at-p orgrest--keyword))
              t
            (and (re-search-backward orgrest--fence nil t)
                 (< (point) line)
                 (member (match-string 1) orgrest-languages)))))))

(defun orgrest--complete ()
  "Ask orgrest for the completions at point."
  (pcase-let ((`(,status ,output ,_)
               (orgrest--call (orgrest--text) "complete" "-"
                              "--offset" (number-to-string (1- (point)))
                              "--document" (if (derived-mode-p 'org-mode) "org" "http")
                              "--directory" (orgrest--directory))))
    (and (eql status 0) (orgrest--read-json output))))

(defun orgrest--cached-p ()
  "Return non-nil if the last completions are still valid."
  (pcase orgrest--completions
    (`(,start ,prefix ,hash ,items)
     (and (<= start (point))
          (let ((text (buffer-substring-no-properties start (point))))
            (and (string-prefix-p prefix text)
                 (orgrest--find (lambda (item) (string-prefix-p text (alist-get 'label item) t))
                                items)
                 (equal hash (orgrest--hash start))))))))

(defun orgrest--hash (start)
  "Give a hash of the text of the buffer without that from START to point."
  (md5 (concat (buffer-substring-no-properties (point-min) start)
               (buffer-substring-no-properties (point) (point-max)))
       nil nil 'utf-8-emacs t))

(defun orgrest--find (test items)
  "Give the first of ITEMS that passes TEST, nil if none does."
  (catch 'found
    (dolist (item items)
      (when (funcall test item)
        (throw 'found item)))))

(defun orgrest--completions ()
  "Give the completions at point, as the variable of this name has them, or nil."
  (unless (orgrest--cached-p)
    (let* ((all (ignore-errors
                  (if non-essential     ; somebody is typing: give up at the next key
                      (while-no-input (orgrest--complete))
                    (orgrest--complete))))
           (start (and (consp all) (1+ (alist-get 'start (car all))))))
      (setq orgrest--completions
            (and start
                 (list start
                       (buffer-substring-no-properties start (point))
                       (orgrest--hash start)
                       (delq nil (mapcar (lambda (item)
                                           (and (= start (1+ (alist-get 'start item))) item))
                                         all)))))))
  orgrest--completions)

(defun orgrest--rest (item start prefix)
  "Give the number of characters behind point that are to give way to ITEM.
It completes PREFIX, which stands at START."
  (max 0 (- (1+ (alist-get 'end item)) start (length prefix))))

(defun orgrest--word-end (start prefix items)
  "Give the end of the word from START on, some of which may stand behind point.
Where none of ITEMS, which complete PREFIX, goes on like that, give point."
  (save-excursion
    (let ((point (point)))
      (forward-char (min (orgrest--rest (car items) start prefix) (- (point-max) point)))
      (skip-chars-backward "^-_[:alnum:]" point)
      (let ((word (buffer-substring-no-properties start (point))))
        (if (orgrest--find (lambda (item) (string-prefix-p word (alist-get 'label item) t)) items)
            (point)
          point)))))

(defun orgrest--finish (item rest)
  "Complete the choice of ITEM, whose label has been put in before point.
What is put in may be more than that, and takes the place of REST characters
behind point, too."
  (let ((start (- (point) (length (alist-get 'label item)))))
    (when (and (<= (point-min) start)
               (equal (alist-get 'label item) (buffer-substring-no-properties start (point))))
      (delete-region start (min (+ (point) rest) (point-max)))
      (insert (alist-get 'insert item)))))

(defun orgrest--candidates ()
  "Give what completes at point, as `completion-at-point-functions' do."
  (pcase (orgrest--completions)
    (`(,start ,prefix ,_ ,items)
     (let* ((end (orgrest--word-end start prefix items))
            (after (- end (point)))
            (labels (mapcar (lambda (item) (alist-get 'label item)) items))
            (find (lambda (label)
                    (orgrest--find (lambda (item) (equal (alist-get 'label item) label)) items)))
            (said (lambda (label) (alist-get 'documentation (funcall find label))))
            (kind (lambda (label) (alist-get 'kind (funcall find label)))))
       (list start end
             (completion-table-case-fold
              (lambda (string predicate action)
                (if (eq action 'metadata)
                    '(metadata (display-sort-function . identity) (category . orgrest))
                  (complete-with-action action labels string predicate))))
             :exclusive 'no
             :annotation-function (lambda (label) (concat "  " (funcall kind label)))
             :company-kind (lambda (label) (orgrest--kind (funcall kind label)))
             :company-docsig
             (lambda (label) (car (split-string (or (funcall said label) "") "\n")))
             :company-doc-buffer
             (lambda (label)
               (with-current-buffer (get-buffer-create " *orgrest documentation*")
                 (erase-buffer)
                 (insert (or (funcall said label) ""))
                 (current-buffer)))
             :exit-function
             (lambda (label status)
               (when (memq status '(finished sole))
                 (let ((item (funcall find label)))
                   (when item
                     (orgrest--finish
                      item (max 0 (- (orgrest--rest item start prefix) after))))))))))))

;;;###autoload
(defun orgrest-completion-at-point ()
  "Complete in a request: methods, URLs, headers, values, variables.
For `completion-at-point-functions'; needs no language server."
  (let ((found (save-restriction
                 (widen)
                 (and (orgrest--may-complete-p) (orgrest--candidates)))))
    (and found
         (<= (point-min) (car found))
         (<= (nth 1 found) (point-max))
         found)))

(defun orgrest--kind (kind)
  "Give the symbol by which completion interfaces choose an icon for KIND."
  (pcase kind
    ("method" 'method)
    ((or "header" "property" "argument" "query") 'property)
    ((or "variable" "environment") 'variable)
    ("file" 'file)
    ("function" 'function)
    ("reference" 'reference)
    (_ 'value)))

(defun orgrest--set-up-org ()
  "Complete requests in this Org buffer."
  (add-hook 'completion-at-point-functions #'orgrest-completion-at-point nil t))

(add-hook 'org-mode-hook #'orgrest--set-up-org)

;;; Language servers

(defun orgrest--server (&optional _interactive)
  "Give the command of the language server."
  (orgrest--command '("lsp")))

(with-eval-after-load 'eglot
  (add-to-list 'eglot-server-programs (cons '(orgrest-mode org-mode) #'orgrest--server)))

(with-eval-after-load 'lsp-mode
  (add-to-list 'lsp-language-id-configuration '(orgrest-mode . "http"))
  (lsp-register-client
   (make-lsp-client :new-connection (lsp-stdio-connection #'orgrest--server)
                    :major-modes '(orgrest-mode org-mode)
                    :server-id 'orgrest)))

(provide 'orgrest)
;;; orgrest.el ends here
