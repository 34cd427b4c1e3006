autocmd BufRead,BufNewFile *.http,*.rest set filetype=http
autocmd BufRead,BufNewFile *.org setfiletype org
